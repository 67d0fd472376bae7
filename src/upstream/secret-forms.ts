// How a secret may stand in what a program writes: as it is, or as programs dress it for the wire.

/** Masking shorter values would hide ordinary words and protect nobody. */
const SHORTEST_SECRET = 4;
/** Encoded forms of shorter ones are so short that they stand in ordinary words too. */
const SHORTEST_ENCODED = 8;

/** Every text to look for, longest first, so that none is left half masked. */
export function secretForms(secrets: readonly string[]): readonly string[] {
  const forms = new Set<string>();
  for (const secret of secrets.flatMap(lines)) {
    if (secret.length < SHORTEST_SECRET) continue;
    forms.add(secret);
    for (const form of secret.length < SHORTEST_ENCODED ? dressed(secret) : [...dressed(secret), ...encoded(secret)])
      if (form.length >= SHORTEST_SECRET) forms.add(form);
  }
  return [...forms].sort((a, b) => b.length - a.length);
}

/** What is read by the line is masked by the line: keys in PEM have several. */
function lines(secret: string): readonly string[] {
  const parts = secret
    .split(/[\r\n]+/)
    .map((part) => part.trim())
    .filter((part) => part.length >= SHORTEST_ENCODED);
  return parts.length > 1 ? [secret, ...parts] : [secret, secret.trim()];
}

/** In JSON and in an address. */
function dressed(secret: string): readonly string[] {
  // Half a character cannot be encoded; as bytes it is written as a whole one anyway.
  const inUrl = encodeURIComponent(Buffer.from(secret).toString());
  return [
    JSON.stringify(secret).slice(1, -1),
    inUrl,
    inUrl.replaceAll('%20', '+'),
    inUrl.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
  ];
}

function encoded(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  return [hex, hex.toUpperCase(), ...[0, 1, 2].flatMap((before) => inBase64(bytes, before))];
}

/** As it stands in base64 when so many bytes come before it, without the letters that its neighbours share. */
function inBase64(bytes: Buffer, before: number): readonly string[] {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replaceAll('=', '');
  const end = (before + bytes.length) % 3 === 0 ? text.length : text.length - 1;
  const own = text.slice(Math.ceil((before * 8) / 6), end);
  return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
}
