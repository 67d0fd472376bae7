// One AES-256-GCM box: opens only with its own key and under the very words it was sealed with.
import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
// Set explicitly: without it Node accepts a tag of 4 bytes, which can be guessed.
const TAG_BYTES = 16;

/** IV, tag, ciphertext. `words` begin with their version. */
export function sealBox(key: KeyObject, words: readonly unknown[], plaintext: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES }).setAAD(toAad(words));
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]);
}

/** Throws when anything differs from what was sealed. */
export function openBox(key: KeyObject, words: readonly unknown[], box: Buffer): Buffer {
  const iv = box.subarray(0, IV_BYTES);
  const tag = box.subarray(IV_BYTES, IV_BYTES + TAG_BYTES);
  if (tag.length !== TAG_BYTES) throw new Error('box is too short');
  const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES }).setAAD(toAad(words)).setAuthTag(tag);
  return Buffer.concat([decipher.update(box.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
}

/** As JSON, because words joined by a sign could be parted elsewhere. */
function toAad(words: readonly unknown[]): Buffer {
  return Buffer.from(JSON.stringify(words));
}
