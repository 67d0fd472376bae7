// How a secret may be written down, worked out here anew: a test that used the product's own forms would
// miss what the product misses.

const B64 = /[A-Za-z0-9+/]/;

/** What stands in the Base64 of every text that has the secret behind `before` bytes; found by trying, not by counting. */
function common(secret: string, before: number, encoding: 'base64' | 'base64url'): string {
  const encode = (fill: string): string =>
    Buffer.from(`${fill.repeat(before)}${secret}${fill.repeat(3)}`).toString(encoding);
  const [one, other] = [encode('\u0000'), encode('\u007f')];
  const isSame = [...one].map((c, at) => c === other[at]);
  const first = isSame.findIndex((same, at) => same && isSame.slice(at, at + 6).every(Boolean));
  const length = isSame.slice(first).findIndex((same) => !same);
  return one.slice(first, first + length);
}

/** Raw, JSON, percent-encoded, hex, and Base64 at each alignment; each long enough to mean something. */
export function writtenForms(secret: string): readonly string[] {
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    new URLSearchParams({ q: secret }).toString().slice(2),
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('hex').toUpperCase(),
    ...[0, 1, 2].flatMap((before) => [common(secret, before, 'base64'), common(secret, before, 'base64url')]),
  ];
  if (forms.some((form) => form.length < 6 || !B64.test(form))) throw new Error('A canary is too short');
  return [...new Set(forms)];
}

/** The names of the secrets that stand in the text in whatever form. */
export function foundIn(text: string, secrets: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(secrets)
    .filter(([, secret]) => writtenForms(secret).some((form) => text.includes(form)))
    .map(([name]) => name);
}
