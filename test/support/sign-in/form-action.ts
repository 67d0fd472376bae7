// CSP `form-action`, which browsers also ask about each redirect that follows a sent form.

function allows(source: string, target: URL, page: URL): boolean {
  if (source === "'self'") return target.origin === page.origin;
  if (source === '*') return target.protocol === 'http:' || target.protocol === 'https:';
  if (/^[a-z][a-z0-9+.-]*:$/i.test(source)) return target.protocol === source.toLowerCase();
  // `http://localhost:*`: any port.
  if (source.endsWith(':*')) return `${target.protocol}//${target.hostname}` === source.slice(0, -2);
  return URL.canParse(source) && new URL(source).origin === target.origin;
}

/** Throws where Chromium would block the step with no more than a line in its console. */
export function checkFormAction(csp: string | null, target: URL, page: URL): void {
  const directive = (csp ?? '')
    .split(';')
    .map((text) => text.trim().split(/\s+/))
    .find(([name]) => name?.toLowerCase() === 'form-action');
  if (directive === undefined || directive.slice(1).some((source) => allows(source, target, page))) return;
  throw new Error(`The page's form-action (${directive.slice(1).join(' ')}) forbids going to ${target.origin}`);
}
