// What pages say about the person in front of them, and the pages for the wrong person and for nobody.
import type { Content } from './answer.ts';
import { type Html, html } from './html.ts';
import { csrfField, hidden, isolated, named } from './layout.ts';

/** For whom a sign-in is, as the page tells it. */
export interface Account {
  readonly principal: string;
  readonly tenant: string;
  /** Undefined: nobody is signed in, and the link alone says who it is. */
  readonly csrf: string | undefined;
  readonly isByLinkAlone: boolean;
  /** Where to sign in as somebody else; undefined where that is not for us to offer. */
  readonly switchTo: string | undefined;
}

export function serverRow(form: { readonly title: string; readonly name: string }): Html {
  return html`<dt>Server</dt><dd>${named(form)}</dd>`;
}

export function accountRow({ principal, tenant }: Account): Html {
  return html`<dt>Connected for</dt><dd>${isolated(principal)} in ${isolated(tenant)}</dd>`;
}

export function personNote({ principal, isByLinkAlone, switchTo }: Account): Html {
  if (isByLinkAlone)
    return html`<p class="note">This link alone says who you are. Go on only if you asked your agent for it yourself, and do not pass it on.</p>`;
  return html`<p class="note">You are signed in as ${isolated(principal)}.${
    switchTo === undefined ? '' : html` <a href="${switchTo}">Use another account</a>`
  } Go on only if you asked your agent for this yourself.</p>`;
}

export interface Stranger {
  /** Who is signed in; never whom the link is for. */
  readonly principal: string;
  readonly csrf: string;
  readonly signOut: string;
  /** Where to come back to after signing out. */
  readonly target: string;
  readonly switchTo: string | undefined;
}

export function wrongAccountPage({ principal, csrf, signOut, target, switchTo }: Stranger): Content {
  return {
    title: 'This link belongs to another account',
    body: html`<p>You are signed in as ${isolated(principal)}, and the link was made for somebody else. Nothing was sent anywhere.</p>
<p>If somebody gave you this link, do not use it, and close this tab.</p>
${switchTo === undefined ? '' : html`<p>If it is yours, <a href="${switchTo}">use the account that your agent works for</a>.</p>`}
<form method="post" action="${signOut}">
${csrfField(csrf)}
${hidden('target', target)}
<button type="submit" class="quiet">${switchTo === undefined ? 'Sign out, and go on with this link' : 'Sign out'}</button>
</form>`,
  };
}

/** For pages that need to know the person, and have no way to find out. */
export function nobodyPage(): Content {
  return {
    title: 'Open the link from your agent',
    body: html`<p>This page is for one person, and it is not known here who you are.</p>
<p>Ask your agent to connect a server, and open the link it gives you. Then come back.</p>`,
  };
}

export function signedOutPage(): Content {
  return {
    title: 'You are signed out',
    body: html`<p>What you connected stays connected. You can close this tab.</p>`,
  };
}
