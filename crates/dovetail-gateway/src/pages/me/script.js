// Draws anew what has changed, for as long as the user wants that: a page that loads itself again loses the reader's place.
const renew = document.getElementById('renew');
const everyMs = renew.dataset.everyS * 1000;
renew.hidden = false;
setInterval(async () => {
  if (!renew.checked || document.hidden) return;
  try {
    const answer = await fetch(location.href, { cache: 'no-store', signal: AbortSignal.timeout(everyMs * 0.9) });
    if (!answer.ok) return;
    const made = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('main');
    const old = document.querySelector('main');
    if (old.children.length !== made.children.length) return old.replaceWith(made);
    [...made.children].forEach((part, i) => { if (!old.children[i].isEqualNode(part)) old.children[i].replaceWith(part); });
  } catch { /* The gateway does not answer: what is shown stays. */ }
}, everyMs);
