// A real Chromium, driven over its debugging socket: one page, with what a person does to it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'undici';
import { isObject, type JsonObject, objectAt } from '../support/upstreams/message.ts';
import { within } from '../support/within.ts';

const CHROMIUM = '/usr/bin/chromium';
export const hasBrowser = existsSync(CHROMIUM);

const START_MS = 20_000;

export class Page {
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (message: JsonObject) => void>();
  #session: string | undefined;
  #commands = 0;

  private constructor(child: ChildProcess, profile: string, socket: WebSocket) {
    this.#child = child;
    this.#profile = profile;
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const message: unknown = JSON.parse(String(data));
      if (isObject(message)) this.#waiting.get(Number(message['id']))?.(message);
    });
  }

  static async open(): Promise<Page> {
    const profile = await mkdtemp(join(tmpdir(), 'keybearer-browser-'));
    // Without its sandbox, which does not start under root; it only ever sees our own pages.
    const switches = ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0'];
    const child = spawn(CHROMIUM, [...switches, `--user-data-dir=${profile}`, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const socket = new WebSocket(await within(debuggerUrl(child), 'the browser to start', START_MS));
    await within(once(socket, 'open'), 'the browser to listen');
    const page = new Page(child, profile, socket);
    const { targetId } = await page.#command('Target.createTarget', { url: 'about:blank' });
    page.#session = String((await page.#command('Target.attachToTarget', { targetId, flatten: true }))['sessionId']);
    return page;
  }

  async goTo(url: string): Promise<void> {
    await this.#command('Page.navigate', { url });
  }

  /** Runs a script in the page. */
  async evaluate(expression: string): Promise<unknown> {
    return objectAt(await this.#command('Runtime.evaluate', { expression, returnByValue: true }), 'result')['value'];
  }

  /** What a person reads; empty while it loads. */
  async text(): Promise<string> {
    return String(await this.evaluate('document.body?.innerText ?? ""'));
  }

  /** Into whatever has the focus. */
  async type(text: string): Promise<void> {
    await this.#command('Input.insertText', { text });
  }

  async pressEnter(): Promise<void> {
    const key = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13 };
    await this.#command('Input.dispatchKeyEvent', { type: 'keyDown', text: '\r', ...key });
    await this.#command('Input.dispatchKeyEvent', { type: 'keyUp', ...key });
  }

  async close(): Promise<void> {
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await within(gone, 'the browser to end');
    // Its helpers may still be writing.
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  #command(method: string, params: JsonObject): Promise<JsonObject> {
    const id = ++this.#commands;
    const answered = new Promise<JsonObject>((resolve) => this.#waiting.set(id, resolve));
    const session = this.#session === undefined ? {} : { sessionId: this.#session };
    this.#socket.send(JSON.stringify({ id, method, params, ...session }));
    return within(answered, method, 10_000).then((answer) => {
      if (answer['error'] !== undefined) throw new Error(`${method}: ${JSON.stringify(answer['error'])}`);
      return objectAt(answer, 'result');
    });
  }
}

function debuggerUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`The browser ended: ${text.slice(-500)}`)));
    child.stderr?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      const url = /DevTools listening on (ws:\S+)/.exec(text)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
}
