// The page that asks for a pasted key.
import type { Content } from './answer.ts';
import { type Html, html } from './html.ts';
import { csrfField, isolated, problemLine } from './layout.ts';
import { type Account, accountRow, personNote, serverRow } from './pages-person.ts';

/** What the form says about a server; all of it as an admin wrote it, except the place, which is checked. */
export interface KeyForm {
  readonly title: string;
  readonly name: string;
  readonly place: string;
  readonly label: string;
  readonly help: string | undefined;
}

/** `problem` is why the last key was not kept. */
export function keyFormPage(form: KeyForm, account: Account, problem: string | undefined): Content {
  return {
    title: `Connect ${form.title}`,
    body: html`<p>Your agent needs a key to use this server for you.</p>
<dl>
${serverRow(form)}
<dt>Your key goes to</dt><dd>${isolated(form.place)}</dd>
${accountRow(account)}
</dl>
${problemLine(problem)}
<form method="post">
${csrfField(account.csrf)}
<label for="secret">${isolated(form.label)}</label>
${helpText(form.help)}
<input id="secret" name="secret" type="password" required autofocus autocomplete="off" autocapitalize="off" spellcheck="false"${
      problem === undefined ? '' : html` aria-invalid="true" aria-describedby="problem"`
    }>
<button type="submit">Connect</button>
</form>
${personNote(account)}
<p class="note">Your agent never sees the key.</p>`,
  };
}

function helpText(help: string | undefined): Html | undefined {
  if (help === undefined) return undefined;
  if (!isHttpsUrl(help)) return /^[a-z][a-z0-9+.-]*:\S/i.test(help) ? undefined : html`<p>${isolated(help)}</p>`;
  return html`<p><a href="${help}" target="_blank" rel="noopener noreferrer">Where do I find it? (${new URL(help).host})</a></p>`;
}

function isHttpsUrl(text: string): boolean {
  return URL.canParse(text) && new URL(text).protocol === 'https:';
}
