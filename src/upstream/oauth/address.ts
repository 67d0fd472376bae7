// Which addresses out of OAuth documents are used at all. They are hostile input (T8), and codes, tokens
// and secrets travel to them, so: https, or what the operator lets go in clear, written plainly.
import { type UrlFault, urlFault } from '../../shared/url-form.ts';

/** Whether requests to this `http:` URL may be made. */
export type MayUseHttp = (url: string) => boolean;

const WORDS: Readonly<Record<UrlFault, string>> = {
  length: 'is too long',
  characters: 'has blanks, control characters or backslashes',
  scheme: 'is no https:// address',
  form: 'is no https:// address',
  user: 'has a user name or password in it',
};

/** What is wrong with it, to follow the name of the field; undefined when it may be used. Repeats nothing of it. */
export function addressProblem(text: string, mayUseHttp: MayUseHttp): string | undefined {
  const fault = urlFault(text);
  if (fault !== undefined) return WORDS[fault];
  if (text.includes('#')) return 'has a fragment (#…)';
  return new URL(text).protocol === 'https:' || mayUseHttp(text) ? undefined : 'is no https:// address';
}
