// The form of an address, wherever one comes in as text: in a definition, through the API, in a document of a
// sign-in server, in a redirect. One rule for all of them. Where it leads is another question (upstream/egress).

export const MAX_URL_LENGTH = 2048;

export type UrlFault =
  /** More characters than `MAX_URL_LENGTH`. */
  | 'length'
  /** Blanks, control characters, characters that nobody sees, backslashes. */
  | 'characters'
  /** A URL, but no http: or https:. */
  | 'scheme'
  /** No URL, or one whose host a parser has to look for. */
  | 'form'
  /** A user name or a password in it. */
  | 'user';

// `new URL` drops or rewrites these silently, so what is shown, compared and dialled would differ.
const MISREAD = /[\s\p{Cc}\p{Cf}\\]/u;

/** The first thing that is wrong with it; undefined when it is plainly an http: or https: URL. */
export function urlFault(text: string): UrlFault | undefined {
  if (text.length > MAX_URL_LENGTH) return 'length';
  if (MISREAD.test(text)) return 'characters';
  if (!URL.canParse(text)) return 'form';
  if (!/^https?:/i.test(text)) return 'scheme';
  if (!/^https?:\/\/[^/?#]/i.test(text)) return 'form';
  const { username, password } = new URL(text);
  return username === '' && password === '' ? undefined : 'user';
}
