// The pages a person sees. They read without style or script and end with the way back to the agent.
import { type Html, html } from './html.ts';

/** What the form says about a server; all of it as an admin wrote it, except the place, which is checked. */
export interface KeyForm {
  readonly title: string;
  readonly name: string;
  readonly place: string;
  readonly principal: string;
  readonly tenant: string;
  readonly label: string;
  readonly help: string | undefined;
}

/** `problem` is why the last key was not kept. */
export function keyFormPage(form: KeyForm, problem: string | undefined): string {
  const { title, place, principal, tenant } = form;
  return page(
    `Connect ${title}`,
    html`<p>Your agent needs a key to use this server for you.</p>
<dl>
<dt>Server</dt><dd>${isolated(title)}${title === form.name ? '' : html` (${isolated(form.name)})`}</dd>
<dt>Your key goes to</dt><dd>${isolated(place)}</dd>
<dt>Connected for</dt><dd>${isolated(principal)} in ${isolated(tenant)}</dd>
</dl>
${problem === undefined ? '' : html`<p class="problem" id="problem" role="alert">${problem}</p>`}
<form method="post">
<label for="secret">${isolated(form.label)}</label>
${helpText(form.help)}
<input id="secret" name="secret" type="password" required autofocus autocomplete="off" autocapitalize="off" spellcheck="false"${
      problem === undefined ? '' : html` aria-invalid="true" aria-describedby="problem"`
    }>
<button type="submit">Connect</button>
</form>
<p class="note">This link alone says who you are. Go on only if you asked your agent for it yourself, and do not pass it on. Your agent never sees the key.</p>`,
  );
}

export function connectedPage(title: string): string {
  return page(
    'Connected',
    html`<p>Go back to your agent.</p>
<p>${isolated(title)} is ready to use. You can close this tab.</p>`,
  );
}

/** The same for a link that was used, is too old, or never was, so that it tells nothing. */
export function goneLinkPage(): string {
  return page(
    'This link does not work any more',
    html`<p>Sign-in links work once and for ten minutes. If you have just connected, you are done: go back to your agent.</p>
<p>Otherwise ask your agent again, and it will give you a new link.</p>`,
  );
}

export function unavailablePage(title: string, reason: string): string {
  return page(
    'This sign-in is not available yet',
    html`<p>${isolated(title)}: ${reason}</p>
<p>Ask the administrator who set up this server. Nothing was changed; you can go back to your agent.</p>`,
  );
}

export function refusedPage(reason: string): string {
  return page(
    'That did not work',
    html`<p>${reason}</p>
<p>Open the link that your agent gave you, and try again from there.</p>`,
  );
}

/** Text of unknown direction must not turn the words around it. */
function isolated(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

function helpText(help: string | undefined): Html | undefined {
  if (help === undefined) return undefined;
  if (!isHttpsUrl(help)) return /^[a-z][a-z0-9+.-]*:\S/i.test(help) ? undefined : html`<p>${isolated(help)}</p>`;
  return html`<p><a href="${help}" target="_blank" rel="noopener noreferrer">Where do I find it? (${new URL(help).host})</a></p>`;
}

function isHttpsUrl(text: string): boolean {
  return URL.canParse(text) && new URL(text).protocol === 'https:';
}

/** The stylesheet is named from the page's own place, so a path in front of the public URL does not matter. */
function page(title: string, body: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="stylesheet" href="../connect.css">
</head>
<body>
<main>
<h1>${isolated(title)}</h1>
${body}
</main>
</body>
</html>
`.toString();
}
