// A real Chromium. Each person in front of it has a profile of their own, and whatever a page complains of is kept.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Request,
  type Response,
} from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';

const EXECUTABLE = '/usr/bin/chromium';
export const hasBrowser = existsSync(EXECUTABLE);
/** For the name of what is skipped; where the tests are run for good, a browser is installed. */
export const NEEDS_BROWSER = 'in a real browser (skipped where /usr/bin/chromium is missing)';

const PHOTOGRAPHS = fileURLToPath(new URL('../../test-output/pages/', import.meta.url));
const STEP_MS = 10_000;
const START_MS = 30_000;

const TELL_VIOLATIONS = `addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
  tellViolation(location.href, 'against the policy: ' + effectiveDirective + ' ' + blockedURI))`;

export class Person {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #complaints: { readonly url: string; readonly text: string }[] = [];
  readonly #visits: Request[] = [];
  readonly #complain: (url: string, text: string) => void;

  constructor(context: BrowserContext, page: Page) {
    this.#context = context;
    this.page = page;
    const complain = (url: string, text: string): void => void this.#complaints.push({ url, text });
    this.#complain = complain;
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complain(message.location().url, message.text());
    });
    page.on('pageerror', (error) => complain(page.url(), error.message));
    page.on('dialog', (dialog) => {
      complain(page.url(), `dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      if (request.isNavigationRequest()) this.#visits.push(request);
    });
  }

  /** Once, before the first page: what a page's own policy keeps from happening is a complaint too. */
  async hearViolations(): Promise<void> {
    await this.page.exposeBinding('tellViolation', (_, url: string, text: string) => this.#complain(url, text));
    await this.page.addInitScript(TELL_VIOLATIONS);
  }

  /** Addresses this browser went to, redirects and pages in frames among them, in order. */
  get visits(): readonly Request[] {
    return this.#visits;
  }

  /** What pages of this origin wrote to the console: broken rules of theirs, errors, dialogs. */
  complaintsAt(origin: string): readonly string[] {
    return this.#complaints.filter(({ url }) => url.startsWith(`${origin}/`)).map(({ text }) => text);
  }

  /** As typed into the address bar; gives the answer it ended with. */
  async open(url: string): Promise<Response> {
    const response = await this.page.goto(url);
    if (response === null) throw new Error(`Nothing was loaded from ${url.slice(0, 60)}`);
    return response;
  }

  async press(button: string): Promise<void> {
    await this.page.getByRole('button', { name: button }).click();
  }

  async fill(label: string, text: string): Promise<void> {
    await this.page.getByLabel(label).fill(text);
  }

  /** Waits for these words to be read. */
  sees(words: string): Promise<void> {
    return expect.poll(() => this.reads(), { timeout: STEP_MS }).toContain(words);
  }

  /** What a person reads; empty while it loads. */
  async reads(): Promise<string> {
    return String(await this.evaluate('document.body?.innerText ?? ""').catch(() => ''));
  }

  /** Runs a script in the page. */
  evaluate(expression: string): Promise<unknown> {
    return this.page.evaluate(expression);
  }

  /** Into test-output/pages, for people to look at. */
  async photograph(name: string): Promise<void> {
    await this.page.screenshot({ path: `${PHOTOGRAPHS}${name}.png`, fullPage: true });
  }

  close(): Promise<void> {
    return this.#context.close();
  }
}

export interface People {
  /** Somebody new, whom nobody knows. */
  somebody(options?: BrowserContextOptions): Promise<Person>;
}

/** Call at the top of a test file: one browser for the file, and everybody gone after each test. */
export function usePeople(): People {
  let browser: Browser | undefined;
  const here: Person[] = [];
  beforeAll(async () => {
    // Without its sandbox, which does not start under root; it only ever sees pages of the tests.
    if (hasBrowser) browser = await chromium.launch({ executablePath: EXECUTABLE, timeout: START_MS });
  }, START_MS);
  afterEach(async () => {
    for (const person of here.splice(0)) await person.close();
  });
  afterAll(() => browser?.close());
  return {
    async somebody(options = {}) {
      if (browser === undefined) throw new Error('There is no browser');
      const context = await browser.newContext(options);
      context.setDefaultTimeout(STEP_MS);
      const person = new Person(context, await context.newPage());
      here.push(person);
      await person.hearViolations();
      return person;
    },
  };
}
