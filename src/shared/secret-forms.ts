// The ways in which programs write a secret down when they repeat it: as it is, in Base64 (alone, or somewhere
// inside a longer text that was encoded as a whole), percent-encoded, in hex.

export interface SecretForms {
  /** To be looked for as they are. */
  readonly plain: readonly string[];
  /** Pieces of Base64: the character on either side may hold a few bits of the secret too. */
  readonly base64: readonly string[];
}

export function formsOf(secret: string): SecretForms {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  const base64 = [0, 1, 2].map((before) => base64Within(bytes, before));
  const urlSafe = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return {
    plain: distinct([
      ...percentEncoded(secret),
      ...base64.flatMap(percentEncoded).filter((form) => form.includes('%')),
      hex,
      hex.toUpperCase(),
    ]),
    base64: distinct([...base64, ...urlSafe]),
  };
}

/** What stands for sure in the Base64 of any text that has `before` bytes (modulo 3) in front of these. */
function base64Within(bytes: Buffer, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
  // The first of these characters have bits of what stands before, the last of what stands behind.
  return text.slice(before === 0 ? 0 : before + 1, Math.floor(((before + bytes.length) * 8) / 6));
}

/** Half of a surrogate pair, which cannot be percent-encoded. */
const HALF = /\p{Cs}/u;
const NEVER_ENCODED = /^[\w.~-]*$/;

/** RFC 3986, what JavaScript makes of it, forms, and libraries that leave the reserved ones as they are. */
function percentEncoded(text: string): string[] {
  if (NEVER_ENCODED.test(text) || HALF.test(text)) return [text];
  const component = encodeURIComponent(text);
  const strict = component.replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const encoded = [
    component,
    strict,
    new URLSearchParams([['', text]]).toString().slice(1),
    component.replaceAll('%2F', '/'),
    encodeURI(text),
  ];
  return distinct([text, ...encoded, ...encoded.map(withSmallHex)]);
}

const withSmallHex = (text: string): string => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());

const NEVER_ESCAPED = /^[\w.~=-]*$/;

/** The text inside a JSON string, as the usual serialisers write it. They differ in what else they escape. */
export function jsonForms(text: string): readonly string[] {
  if (NEVER_ESCAPED.test(text)) return [text];
  const json = inJson(text);
  const ascii = escaped(json, /[\u007f-\uffff]/g, (hex) => hex);
  // Go; .NET; PHP, which writes slashes so as well.
  const go = escaped(json, /[<>&]/g, (hex) => hex);
  const dotNet = escaped(json.replaceAll('\\"', '"'), /["&'+<>`\u007f-\uffff]/g, (hex) => hex.toUpperCase());
  return distinct([json, ascii, go, dotNet, json.replaceAll('/', '\\/'), ascii.replaceAll('/', '\\/')]);
}

function escaped(text: string, which: RegExp, spelled: (hex: string) => string): string {
  return text.replace(which, (c) => `\\u${spelled(c.charCodeAt(0).toString(16).padStart(4, '0'))}`);
}

/** The same where JSON is quoted in a text of JSON, once more and again, as answers of tools often are. */
export function quotedForms(text: string): readonly string[] {
  const once = jsonForms(text);
  return distinct([text, ...once, ...once.map(inJson)]);
}

/** The text between the quotes of a JSON string. */
export const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];
