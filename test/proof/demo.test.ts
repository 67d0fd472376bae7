// The demo as a newcomer runs it: the whole story on one machine, with and without a person at the browser.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Browser } from '../support/sign-in/browser-jar.ts';
import { Watched } from '../support/upstreams/watched.ts';
import { within } from '../support/within.ts';
import { descendantsOf, stillRunning } from './processes.ts';
import { buildProduct, inRoot } from './product.ts';

const STORY_MS = 60_000;
const STOP_MS = 20_000;

class Demo extends Watched {
  readonly child: ChildProcess;
  /** Code and signal. */
  readonly exit: Promise<unknown[]>;
  text = '';

  constructor(flags: readonly string[], environment: Readonly<Record<string, string>>) {
    super();
    const { PATH = '', HOME = '/' } = process.env;
    this.child = spawn(process.execPath, ['--import', 'tsx', 'examples/demo/main.ts', ...flags], {
      cwd: inRoot(''),
      env: { PATH, HOME, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.exit = once(this.child, 'exit');
    const hear = (chunk: Buffer): void => {
      this.text += chunk.toString('utf8');
      this.changed();
    };
    this.child.stdout?.on('data', hear);
    this.child.stderr?.on('data', hear);
  }

  /** Resolves with the first group once the text has it. */
  async find(pattern: RegExp, ms = STORY_MS): Promise<string> {
    let stop: () => void = () => {};
    const found = new Promise<string>((resolve, reject) => {
      stop = this.onChange(() => {
        const match = pattern.exec(this.text);
        if (match !== null) resolve(match[1] ?? match[0]);
      });
      void this.exit.then(() => reject(new Error(`The demo ended:\n${this.text}`)));
    });
    try {
      return await within(found, String(pattern), ms);
    } catch (error) {
      throw new Error(`${String(error)}\n${this.text}`, { cause: error });
    } finally {
      stop();
    }
  }
}

const running: Demo[] = [];
const start = (...flags: readonly string[]): Demo => startIn({}, ...flags);
const startIn = (environment: Readonly<Record<string, string>>, ...flags: readonly string[]): Demo => {
  const demo = new Demo(flags, environment);
  running.push(demo);
  return demo;
};

beforeAll(buildProduct, 120_000);
afterEach(async () => {
  for (const { child, exit } of running.splice(0)) {
    child.kill('SIGTERM');
    await within(exit, 'the demo to end', STOP_MS);
  }
}, STOP_MS);

/** These, in this order. */
function expectTold(text: string, ...parts: readonly string[]): void {
  let at = 0;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    expect(found, `${part} in\n${text}`).toBeGreaterThanOrEqual(at);
    at = found + part.length;
  }
}

describe('npm run demo', () => {
  it('with --yes --once tells the whole story by itself, and ends well', async () => {
    const demo = start('--yes', '--once');
    expect(await within(demo.exit, 'the story', STORY_MS)).toEqual([0, null]);
    expectTold(
      demo.text,
      '1. ',
      'everything__echo',
      'filesystem__',
      'notes        notes__connect\n',
      'Echo: hello',
      '/connect/',
      'The call goes on by itself: Notes is connected.',
      '4. ',
      'notes__list_notes',
      'Kept for alice: buy milk',
      'alice: buy milk',
      '6. ',
      '/connect/',
      'The same call goes on by itself: bob has no notes yet',
    );
    expect(demo.text, 'plain text').not.toContain('\u001b');
  }, 90_000);

  it('waits for a person with a browser, stays up, and leaves nothing behind after Ctrl-C', async () => {
    const demo = start();
    const signIn = async (link: string, name: string): Promise<void> => {
      const browser = new Browser();
      await browser.open(link);
      expect((await browser.submit()).text).toContain('Sign in to Notes');
      expect((await browser.submit({ name }, { button: 'allow' })).status).toBe(200);
    };
    await signIn(await demo.find(/3\. [\s\S]*?(http:\S+\/connect\/\S+)\s[\s\S]*that call waits/), 'zoe');
    await signIn(await demo.find(/6\. [\s\S]*?(http:\S+\/connect\/\S+)\s[\s\S]*the call waits/), 'yan');
    const key = await demo.find(/KEY=(kb_\S+) node[\s\S]*Ctrl-C/);
    expectTold(demo.text, 'zoe: buy milk', 'yan has no notes yet');
    const address = await demo.find(/Address\s+(\S+)/);
    const headers = { authorization: `Bearer ${key}`, 'keybearer-principal': 'zoe' };
    const alive = await fetch(address, { method: 'POST', headers, body: '{}' });
    expect(alive.status).not.toBe(401);

    const children = process.platform === 'linux' ? await descendantsOf(demo.child.pid ?? 0) : [];
    demo.child.kill('SIGINT');
    expect(await within(demo.exit, 'the demo to end', STOP_MS)).toEqual([0, null]);
    await expect.poll(() => stillRunning(children), { timeout: 5_000, interval: 100 }).toEqual([]);
  }, 120_000);

  it('says that the person declined, lets them change their mind, and goes on', async () => {
    const demo = start();
    const answer = async (link: string, button: 'allow' | 'deny'): Promise<void> => {
      const browser = new Browser();
      await browser.open(link);
      await browser.submit();
      await browser.submit({ name: 'zoe' }, { button });
    };
    await answer(await demo.find(/3\. [\s\S]*?(http:\S+\/connect\/\S+)\s[\s\S]*that call waits/), 'deny');
    const again = await demo.find(
      /The person declined to sign in to Notes.*? (http:\S+\/connect\/[\w-]+)[\s\S]*once more/,
    );
    await answer(again, 'allow');
    await demo.find(/The call goes on by itself: Notes is connected\.[\s\S]*zoe: buy milk/);
    expect(demo.text).not.toContain('Nobody signed in for as long');
  }, 90_000);

  it('says that nobody came in time, and stays up to be tried by hand', async () => {
    const demo = startIn({ KEYBEARER_SIGN_IN_WAIT_MS: '1000' });
    await demo.find(/KEY=(kb_\S+) node[\s\S]*Ctrl-C/);
    expectTold(
      demo.text,
      'and that call waits.',
      'The wait is over, and nobody has signed in to Notes.',
      'The rest of the story needs somebody who signs in',
      'Everything is still running.',
    );
    expect(demo.text).not.toContain('timed out');
  }, 90_000);

  it('refuses a flag that it does not know', async () => {
    const demo = start('--no-such');
    expect(await within(demo.exit, 'the demo to end', STOP_MS)).toEqual([2, null]);
    expect(demo.text).toContain('Usage: npm run demo');
  });
});
