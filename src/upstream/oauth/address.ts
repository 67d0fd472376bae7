// Which addresses out of OAuth documents are used at all. They are hostile input (T8), and codes, tokens
// and secrets travel to them, so: https, or what the operator lets go in clear, written plainly.

/** Whether requests to this `http:` URL may be made. */
export type MayUseHttp = (url: string) => boolean;

export const MAX_ADDRESS_LENGTH = 2048;

/** What is wrong with it, to follow the name of the field; undefined when it may be used. Repeats nothing of it. */
export function addressProblem(text: string, mayUseHttp: MayUseHttp): string | undefined {
  if (text.length > MAX_ADDRESS_LENGTH) return 'is too long';
  // `new URL` drops or rewrites these silently, so what is compared and what is dialled would differ.
  if (/[\s\p{Cc}\\]/u.test(text)) return 'has blanks, control characters or backslashes';
  if (!/^https?:\/\/[^/?#]/i.test(text) || !URL.canParse(text)) return 'is no https:// address';
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return 'has a user name or password in it';
  if (text.includes('#')) return 'has a fragment (#…)';
  return url.protocol === 'https:' || mayUseHttp(text) ? undefined : 'is no https:// address';
}
