// A sign-in goes on to the line of a log that was asked for: a redirect keeps what follows the "#" of its request.
const entering = document.querySelector("form[action='/sign-in']");
if (entering) entering.action += location.hash;
