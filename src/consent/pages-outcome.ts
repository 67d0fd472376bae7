// Pages that end or interrupt a sign-in. None of them says more than the person in front of it may know.
import type { Content } from './answer.ts';
import { html } from './html.ts';
import { isolated } from './layout.ts';

const WAY_ON = {
  again: 'Go back to your agent, or try again.',
  anew: 'This link cannot be used again. To try once more, ask your agent for a new one; you can close this tab.',
} as const;

/** `connections` is the path of the page that lists what is connected; `problem` is what the server said to the new sign-in. */
export function connectedPage(title: string, connections: string, problem?: string): Content {
  return {
    title: 'Connected',
    body: html`<p>Go back to your agent.</p>
${
  problem === undefined
    ? html`<p>${isolated(title)} is ready to use. You can close this tab.</p>`
    : html`<p class="problem" role="alert">You are signed in, but ${isolated(title)} could not be used yet: ${problem}</p>
<p>If it stays so, tell the administrator who set up this server.</p>`
}
<p class="note">You can end this at any time: <a href="${connections}">what you have connected</a></p>`,
  };
}

/** The same for a link that was used, is too old, or never was, so that it tells nothing. */
export function goneLinkPage(): Content {
  return {
    title: 'This link does not work any more',
    body: html`<p>Sign-in links work once and for ten minutes. If you have just connected, you are done: go back to your agent.</p>
<p>Otherwise ask your agent again, and it will give you a new link.</p>`,
  };
}

export function unavailablePage(title: string, reason: string): Content {
  return {
    title: 'This sign-in is not available',
    body: html`<p>${isolated(title)}: ${reason}</p>
<p>Ask the administrator who set up this server. Nothing was changed; you can go back to your agent.</p>`,
  };
}

export function refusedPage(reason: string): Content {
  return {
    title: 'That did not work',
    body: html`<p>${reason}</p>
<p>If that does not help, ask your agent for a new link.</p>`,
  };
}

export function goingOnPage(target: URL): Content {
  return {
    title: 'One moment',
    body: html`<p>You go on to ${isolated(target.host)}.</p>
<p><a class="button" href="${target.href}" rel="noreferrer">Go on</a></p>`,
  };
}

export function deniedPage(title: string, again: string | undefined): Content {
  return {
    title: 'Not connected',
    body: html`<p>Access to ${isolated(title)} was not given, so nothing was kept.</p>
<p>${again === undefined ? WAY_ON.anew : WAY_ON.again}</p>${tryAgain(again)}`,
  };
}

/**
 * `again` is the link while it is good: in mode `link` a code that came back uses it up (T4). `reason` is ours; what
 * the other site wrote is shown nowhere (B165).
 */
export function failedPage(title: string, reason: string, again: string | undefined): Content {
  return {
    title: 'Not connected',
    body: html`<p class="problem" role="alert">${reason}</p>
<p>${isolated(title)} was not connected, and nothing was kept.</p>
<p>${again === undefined ? WAY_ON.anew : WAY_ON.again}</p>${tryAgain(again)}`,
  };
}

export function stillWorkingPage(title: string): Content {
  return {
    title: 'One moment',
    body: html`<p role="status">The sign-in to ${isolated(title)} is being finished. This page looks again by itself.</p>`,
  };
}

/** The page gave up looking: how it ended is not known here, so it is not called a failure. */
export function tooLongPage(): Content {
  return {
    title: 'Not finished yet',
    body: html`<p role="status">It takes longer than it should. Go back to your agent: it knows whether it worked.</p>`,
  };
}

/** For everybody who is not the one who signed in, whether there was such a sign-in or not. */
export function neutralEndPage(): Content {
  return {
    title: 'Nothing to see here',
    body: html`<p>This page shows how a sign-in ended, in the browser where it was made and for ten minutes.</p>
<p>If that was you, go back to your agent: it knows whether it worked.</p>`,
  };
}

/** For a way back from another site that is not known, too old, or not this browser's; all look the same. */
export function unknownReturnPage(): Content {
  return {
    title: 'This sign-in cannot be finished here',
    body: html`<p>It is too old, or it was begun in another browser. Nothing was changed.</p>
<p>Go back to your agent, open the link it gave you in this browser, and sign in again.</p>`,
  };
}

function tryAgain(link: string | undefined) {
  return link === undefined
    ? undefined
    : html`
<p><a class="button" href="${link}">Try again</a></p>`;
}
