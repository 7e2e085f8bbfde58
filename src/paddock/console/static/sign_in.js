// A sign-in goes on to the line of a log that was asked for: a redirect keeps what follows the "#" of its request. The
// way by a provider keeps it in the address that it goes on to.
const entering = document.querySelector("form[action='/sign-in']");
if (entering) entering.action += location.hash;
const provider = document.getElementById("provider");
if (provider && location.hash) provider.href += encodeURIComponent(location.hash);
