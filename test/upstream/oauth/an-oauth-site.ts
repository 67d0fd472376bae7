// A web site that the test writes itself: an MCP server with its documents, an authorization server, an
// identity provider, or a canary that nobody should ask. Counts and keeps all that reaches it.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { listen, readBody } from '../../support/upstreams/listener.ts';
import { Watched } from '../../support/upstreams/watched.ts';

export interface SiteRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly form: Readonly<Record<string, string>>;
  /** False once the other side has gone away. */
  readonly isWaiting: () => boolean;
}

export interface SiteAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly json?: unknown;
  readonly text?: string;
  /** What to do instead of answering. */
  readonly instead?: 'hang' | 'reset' | 'drip';
}

export type Script = SiteAnswer | ((request: SiteRequest) => SiteAnswer);

export class Site extends Watched {
  readonly requests: SiteRequest[] = [];
  readonly #scripts = new Map<string, Script>();
  origin = '';
  #close = (): Promise<void> => Promise.resolve();

  static async start(scripts: Readonly<Record<string, Script>> = {}): Promise<Site> {
    const site = new Site();
    site.on(scripts);
    const listener = await listen((req, res) => void site.#serve(req, res).catch(() => res.destroy()));
    site.origin = new URL(listener.url).origin;
    site.#close = () => listener.close();
    return site;
  }

  /** What to answer at these paths; 404 at all others. */
  on(scripts: Readonly<Record<string, Script>>): this {
    for (const [path, script] of Object.entries(scripts)) this.#scripts.set(path, script);
    return this;
  }

  /** The paths asked for so far, in order. */
  get paths(): readonly string[] {
    return this.requests.map(({ path }) => path);
  }

  at(path: string): readonly SiteRequest[] {
    return this.requests.filter((request) => request.path === path);
  }

  /** Everything that ever reached it, as one text to search for what should not be there. */
  get heard(): string {
    return this.requests.map(({ query, headers, body }) => `${query}\n${JSON.stringify(headers)}\n${body}`).join('\n');
  }

  asked(times: number): Promise<void> {
    return this.until(() => this.requests.length >= times, `${String(times)} requests`);
  }

  close(): Promise<void> {
    return this.#close();
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', this.origin);
    const body = await readBody(req);
    let isWaiting = true;
    res.on('close', () => {
      isWaiting = false;
      this.changed();
    });
    const request: SiteRequest = {
      method: req.method ?? '',
      path: url.pathname,
      query: url.search,
      headers: req.headers,
      body,
      form: Object.fromEntries(new URLSearchParams(body)),
      isWaiting: () => isWaiting,
    };
    this.requests.push(request);
    const script = this.#scripts.get(url.pathname) ?? { status: 404, text: 'not here' };
    answer(res, typeof script === 'function' ? script(request) : script);
    this.changed();
  }
}

function answer(res: ServerResponse, { status = 200, headers = {}, json, text = '', instead }: SiteAnswer): void {
  if (instead === 'hang') return;
  if (instead === 'reset') return void res.socket?.resetAndDestroy();
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  res.writeHead(status, { ...type, ...headers });
  if (instead === 'drip') return void res.write('{');
  res.end(json === undefined ? text : JSON.stringify(json));
}
