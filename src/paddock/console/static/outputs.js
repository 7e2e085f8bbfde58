// The tab of a board that was asked for goes on to the board as soon as it is there. Without this file a link does it.
const main = document.getElementById("main");
let gone = false;

function go() {
  const link = document.getElementById("goes");
  if (gone || !link) return;
  gone = true;
  // In place of this page: Back leads to where the board was asked for.
  location.replace(link.dataset.address);
}
new MutationObserver(go).observe(main, { childList: true, subtree: true, attributes: true });
go();
