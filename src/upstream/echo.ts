// A server may say back what it was sent: a debug answer with the request's headers, an error with the key in it.
// Whatever comes from a server goes through here before anything else reads it, so that nobody further in
// (agent, catalog, log, page) can pass a key on (T12, T23).
import { ProxyError } from '../shared/errors.ts';
import { createMask, MASK, SHORTEST_ECHO_LENGTH } from '../shared/mask.ts';
import type { Secret } from '../shared/secret.ts';
import { formsOf, inJson, quotedForms } from '../shared/secret-forms.ts';
import { mapStrings } from '../wire/json-strings.ts';
import { Needles } from '../wire/needles.ts';

/** Enough of a form to find it by. The end is taken, since tokens of one issuer begin alike. */
const SOUGHT_LENGTH = 48;
/** A server that repeats its key on purpose could otherwise have megabytes read letter by letter. */
const MAX_MASKED_BYTES = 1024 * 1024;
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const NO_NEEDLES = new Needles([]);

export class Echo {
  readonly #needles: Needles;
  readonly #mask: (text: string) => string;

  /** @param secrets what must not come back; worked out once, for all messages of a connection */
  constructor(secrets: readonly Secret[]) {
    this.#needles = needlesOf(secrets);
    this.#mask = createMask(secrets);
  }

  /**
   * The message without what it repeats; the same bytes, neither copied nor parsed, where it repeats nothing.
   * Throws `upstream_protocol` when to take it out would hold up everybody else.
   */
  message(bytes: Buffer): Buffer {
    if (!this.#needles.areIn(bytes)) return bytes;
    requireSmall(bytes.length);
    return Buffer.from(this.#masked(bytes.toString('utf8')));
  }

  /** The same of a message that is latin1 text, one character a byte. */
  event(data: string): string {
    if (!this.#needles.areInText(data)) return data;
    requireSmall(data.length);
    return Buffer.from(this.#masked(Buffer.from(data, 'latin1').toString('utf8'))).toString('latin1');
  }

  /** Of a header, or of anything else that is no JSON. */
  text(value: string): string {
    return this.#needles.areInText(value) ? this.#mask(value) : value;
  }

  /** Inside of texts, so that the message stays JSON; a number that holds a key of digits becomes a text. */
  #masked(text: string): string {
    if (/^\s*[[{]/.test(text)) {
      try {
        const masked = mapStrings(text, this.#mask);
        if (!this.#needles.areIn(Buffer.from(masked))) return masked;
        // What is still found is a number, if this is JSON at all.
        JSON.parse(masked);
        return masked.replace(TEXT_OR_NUMBER, (token) =>
          token.startsWith('"') || this.#mask(token) === token ? token : JSON.stringify(MASK),
        );
      } catch {
        // Nobody can read it, and nobody shall find the key in it.
      }
    }
    return this.#mask(text);
  }
}

function requireSmall(bytes: number): void {
  if (bytes > MAX_MASKED_BYTES)
    throw new ProxyError(
      'upstream_protocol',
      "The server's answer repeats the key it was given, and is too large to take it out.",
    );
}

function needlesOf(secrets: readonly Secret[]): Needles {
  const needles = new Set<string>();
  for (const secret of secrets) {
    const value = secret.reveal();
    if (value.length < SHORTEST_ECHO_LENGTH) continue;
    const { plain, base64 } = formsOf(value);
    for (const form of [...plain, ...base64])
      for (const quoted of quotedForms(form)) for (const text of [quoted, inJson(quoted)]) needles.add(endOf(text));
  }
  return needles.size === 0 ? NO_NEEDLES : new Needles([...needles].map((needle) => Buffer.from(needle)));
}

/** A half of a pair at the cut would become another character. */
const endOf = (text: string): string => text.slice(-SOUGHT_LENGTH).replace(/^[\udc00-\udfff]/, '');
