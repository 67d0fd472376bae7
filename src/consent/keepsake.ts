// What a browser holds while it is away at another site: a secret of which only the hash is stored here, so
// that nobody else can come back in its place, and what it came for.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export interface Keepsake {
  /** For the cookie. */
  readonly text: string;
  readonly hash: Buffer;
}

const FORM = /^[A-Za-z0-9_-]{43}\.([A-Za-z0-9_/-]{1,64})$/;

/** The hash covers `purpose` too, so the browser cannot come back for something else. */
export function makeKeepsake(purpose: string): Keepsake {
  const text = `${randomBytes(32).toString('base64url')}.${purpose}`;
  if (!FORM.test(text)) throw new TypeError('not a purpose that a cookie can hold');
  return { text, hash: sha256(text) };
}

/** What the browser came for; undefined when this is not what it was given. */
export function purposeOf(text: string | undefined, hash: Buffer): string | undefined {
  const found = text === undefined ? undefined : FORM.exec(text)?.[1];
  return text !== undefined && found !== undefined && timingSafeEqual(sha256(text), hash) ? found : undefined;
}

/** A value that only the holder, and we with the holder's help, can make: nothing of it needs to be stored. */
export function derive(text: string, use: string): string {
  return createHmac('sha256', text).update(use).digest('base64url');
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
