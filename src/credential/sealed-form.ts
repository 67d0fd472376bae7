// How what is sealed begins: one byte of version, sixteen of its data key's id. Then comes the box.
export const KEY_ID_BYTES = 16;
export const ID_END = 1 + KEY_ID_BYTES;

const CURRENT = 2;

/** Undefined for what is too short or of a form that is not known here. */
export function versionOf(sealed: Buffer): 1 | 2 | undefined {
  const version = sealed[0];
  return sealed.length > ID_END && (version === 1 || version === CURRENT) ? version : undefined;
}

export const keyIdIn = (sealed: Buffer): string => sealed.subarray(1, ID_END).toString('hex');

/** What everything begins with that is sealed by this key in the newest form. */
export const prefixOf = (keyId: string): Buffer => Buffer.concat([Buffer.from([CURRENT]), Buffer.from(keyId, 'hex')]);

export const isFresh = (sealed: Buffer, keyId: string): boolean => sealed.subarray(0, ID_END).equals(prefixOf(keyId));
