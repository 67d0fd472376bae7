// The page before a sign-in at another site: what will be asked for, where, and for whom (T1).
import type { Content } from './answer.ts';
import { html } from './html.ts';
import { csrfField, hidden, isolated, problemLine } from './layout.ts';
import { type Account, accountRow, personNote, serverRow } from './pages-person.ts';

export interface ConsentForm {
  readonly title: string;
  readonly name: string;
  /** The server's own host. */
  readonly place: string;
  readonly authorizationHost: string;
  readonly issuer: string;
  readonly scopes: readonly string[];
  /** Comes back with the form, so that the button does what the page said. */
  readonly digest: string;
}

/** Beyond this many a list is read by nobody. */
const SHOWN_SCOPES = 40;
const SHOWN_LENGTH = 200;

export function consentPage(form: ConsentForm, account: Account, problem: string | undefined): Content {
  const { title, place, authorizationHost, issuer, scopes, digest } = form;
  return {
    title: `Connect ${title}`,
    body: html`<p>Your agent wants to use this server for you. You sign in at ${isolated(authorizationHost)}, and your agent never sees a password or a key.</p>
<dl>
${serverRow(form)}
<dt>Runs at</dt><dd>${isolated(place)}</dd>
<dt>You sign in at</dt><dd>${isolated(authorizationHost)}${issuerNote(issuer, authorizationHost)}</dd>
<dt>It is asked to allow</dt><dd>${scopeList(scopes)}</dd>
${accountRow(account)}
</dl>
${problemLine(problem)}
<form method="post">
${csrfField(account.csrf)}${hidden('shown', digest)}
<button type="submit" autofocus>Go on to ${isolated(authorizationHost)}</button>
</form>
${personNote(account)}`,
  };
}

/** Only where it says more than the host does. */
function issuerNote(issuer: string, host: string) {
  const saysNoMore = [`https://${host}`, `http://${host}`].includes(issuer.replace(/\/$/, ''));
  return saysNoMore ? undefined : html` <span class="soft">(${isolated(cut(issuer))})</span>`;
}

/** The one scope that says nothing to people and is asked for by us. */
const meaning = (scope: string) =>
  scope === 'offline_access' ? html` <span class="soft">(to stay connected while you are away)</span>` : undefined;

function scopeList(scopes: readonly string[]) {
  if (scopes.length === 0) return 'what it gives when nothing is named';
  const more = scopes.length - SHOWN_SCOPES;
  return html`<ul>${scopes.slice(0, SHOWN_SCOPES).map((scope) => html`<li>${isolated(cut(scope))}${meaning(scope)}</li>`)}${
    more > 0 ? html`<li>and ${more} more</li>` : ''
  }</ul>`;
}

function cut(text: string): string {
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}
