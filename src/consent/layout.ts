// The frame of every page, and the few pieces that pages have in common.
import type { Content } from './answer.ts';
import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

export function render(site: Site, { title, body }: Content): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="stylesheet" href="${site.path('/connect.css')}">
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

/** Text of unknown direction must not turn the words around it. */
export function isolated(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

/** A server's title with its name behind it, where they differ: the title is what an admin likes to call it. */
export function named({ title, name }: { readonly title: string; readonly name: string }): Html {
  return html`${isolated(title)}${title === name ? '' : html` <span class="soft">(${isolated(name)})</span>`}`;
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

export function csrfField(csrf: string | undefined): Html | undefined {
  return csrf === undefined ? undefined : hidden('csrf', csrf);
}

export function problemLine(problem: string | undefined): Html | undefined {
  return problem === undefined ? undefined : html`<p class="problem" id="problem" role="alert">${problem}</p>`;
}
