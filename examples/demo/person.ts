// Plays the person in front of a browser, with plain fetch: opens a link, keeps cookies, sends the page's form.

interface Page {
  readonly url: string;
  readonly status: number;
  readonly text: string;
}

const MAX_REDIRECTS = 10;
const WAIT_MS = 15_000;

export class Person {
  readonly #cookies = new Map<string, string>();

  open(url: string): Promise<Page> {
    return this.#go(new URL(url));
  }

  /** The form of a page as it stands, with these fields put over it. */
  send(page: Page, fields: Readonly<Record<string, string>> = {}): Promise<Page> {
    const form = /<form\b.*?<\/form>/is.exec(page.text)?.[0];
    if (form === undefined) throw new Error(`There is no form on ${page.url} (${page.status})`);
    const all = { ...hiddenFields(form), ...fields };
    return this.#go(new URL(page.url), new URLSearchParams(all));
  }

  async #go(first: URL, form?: URLSearchParams): Promise<Page> {
    let url = first;
    let body = form;
    for (let hop = 0; hop < MAX_REDIRECTS; hop++) {
      const response = await fetch(url, {
        redirect: 'manual',
        signal: AbortSignal.timeout(WAIT_MS),
        headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
        ...(body === undefined ? {} : { method: 'POST', body }),
      });
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=;]+)=([^;]*)/.exec(cookie) ?? [];
        this.#cookies.set(name, value);
      }
      const location = response.headers.get('location') ?? refreshOf(response);
      if (location === undefined) return { url: url.href, status: response.status, text: await response.text() };
      url = new URL(location, url);
      body = undefined;
    }
    throw new Error(`${first.origin} sends the browser round and round`);
  }
}

/** A page that sends the browser on at once. */
const refreshOf = ({ headers }: Response): string | undefined =>
  /^0; url=(.+)$/.exec(headers.get('refresh') ?? '')?.[1];

function hiddenFields(form: string): Record<string, string> {
  const inputs = [...form.matchAll(/<input\b[^>]*\btype="hidden"[^>]*>/gi)].map(([tag]) => tag);
  const attribute = (tag: string, name: string): string => new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? '';
  return Object.fromEntries(inputs.map((tag) => [attribute(tag, 'name'), attribute(tag, 'value')]));
}

/** From the agent's link to the page that says it is done. */
export async function signIn(link: string, name: string): Promise<void> {
  const person = new Person();
  const confirm = await person.open(link);
  const theirs = await person.send(confirm);
  const end = await person.send(theirs, { name, answer: 'allow' });
  const title = /<title>(.*?)<\/title>/.exec(end.text)?.[1];
  if (title !== 'Connected') throw new Error(`The sign-in ended with "${title ?? end.status}"`);
}
