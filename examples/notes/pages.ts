// The pages a person sees at the sample authorization server.

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem }
input, button { font: inherit; padding: .4rem .8rem }</style>
<h1>${title}</h1>
${body}
</html>
`;

/** No password: this is a sample, and any name will do. */
export const signInPage = (scopes: readonly string[]): string =>
  page(
    'Sign in to Notes',
    `<p>Keybearer asks for <b>${escape(scopes.join(', ') || 'your name')}</b>. Any name will do; there is no password.</p>
<form method="post">
<p><label>Name <input name="name" required autofocus autocomplete="off"></label></p>
<button name="answer" value="allow">Allow</button> <button name="answer" value="deny" formnovalidate>Deny</button>
</form>`,
  );

export const refusalPage = (reason: string): string => page('That did not work', `<p>${escape(reason)}</p>`);
