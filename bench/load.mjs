// People who call, each waiting for an answer before the next question, and who check that every answer
// is for them, from the server they asked, to the question they asked.
import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { Pool } from 'undici';
import * as us from './people.mjs';

const CLIENT = { name: 'bench', version: '1' };
const LEGACY = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT };
const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const people = Array.from({ length: us.PEOPLE }, (_, i) => i);
const count = (text, what) => text.split(what).length - 1;

/** Each person's agent's own token. */
export function signTokens(pem) {
  const key = createPrivateKey(pem);
  const about = { iss: us.ISSUER, aud: us.AUDIENCE };
  const sign = (i) =>
    new SignJWT({ ...about, sub: us.person(i), tenant: us.tenantOf(i) })
      .setProtectedHeader({ alg: 'ES256', kid: 'bench' })
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(key);
  return Promise.all(people.map(sign));
}

export class Load {
  #pool;
  #target;
  #isModern;
  #sessions = new Map();
  #nonce = 0;

  /** `target`: its url, and the `tokens` of the people, or `isRaw` for one that passes on what it gets. */
  constructor(target, era) {
    this.#pool = new Pool(target.url, { connections: us.PEOPLE });
    this.#target = target;
    this.#isModern = era === 'modern';
  }

  close() {
    return this.#pool.destroy();
  }

  /** Everybody asks for `ms`. Gives how long each call took, and what was wrong with answers. */
  async run(scenario, ms) {
    const end = performance.now() + ms;
    const [latencies, problems] = [[], []];
    const askOn = async (i) => {
      for (let turn = i; performance.now() < end; turn++) {
        const startedAt = performance.now();
        const problem = await this.#ask(scenario, i, turn % us.CALLED_SERVERS).catch(String);
        latencies.push(performance.now() - startedAt);
        if (problem !== undefined) problems.push(problem);
      }
    };
    await Promise.all(people.map(askOn));
    return { latencies, problems };
  }

  #ask({ tool, args }, i, j) {
    return tool === undefined ? this.#list(i) : this.#call(i, us.serverName(j), tool, args);
  }

  async #list(i) {
    const { status, text } = await this.#request(i, 'all', 'tools/list', {});
    const tools = count(text, '"inputSchema"');
    return tools === us.SERVERS * us.TOOLS_PER_SERVER ? undefined : `status ${status}, ${tools} tools`;
  }

  async #call(i, server, tool, args) {
    const n = `${i}.${++this.#nonce}`;
    const name = this.#target.isRaw ? tool : `${server}__${tool}`;
    const meta = args.count === undefined ? {} : { _meta: { progressToken: n } };
    const params = { name, arguments: { ...args, n }, ...meta };
    const { status, text } = await this.#request(i, server, 'tools/call', params);
    if (status !== 200 || !text.includes('"result"')) return `status ${status}: ${text.slice(0, 200)}`;
    if (!text.includes(`who=${us.person(i)};srv=${server};n=${n};`)) return 'an answer for somebody else';
    return count(text, `"progressToken":"${n}"`) === (args.count ?? 0) ? undefined : 'progress is missing';
  }

  async #request(i, server, method, params) {
    const { isRaw, tokens } = this.#target;
    const path = isRaw ? `/${server}/mcp` : '/mcp';
    const authorization = `Bearer ${isRaw ? us.tokenFor(server, us.person(i)) : tokens[i]}`;
    if (this.#isModern) {
      const name = params.name === undefined ? {} : { 'mcp-name': params.name };
      const headers = { authorization, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...name };
      return this.#post(path, headers, {
        id: 1,
        method,
        params: { ...params, _meta: { ...params._meta, ...MODERN_META } },
      });
    }
    const key = `${authorization} ${path}`;
    if (!this.#sessions.has(key)) this.#sessions.set(key, this.#open(path, authorization));
    return this.#post(path, { authorization, ...(await this.#sessions.get(key)) }, { id: 1, method, params });
  }

  /** Gives the headers of a new session. */
  async #open(path, authorization) {
    const { status, session } = await this.#post(
      path,
      { authorization },
      { id: 0, method: 'initialize', params: LEGACY },
    );
    if (session === undefined) throw new Error(`no session, but status ${status}`);
    const headers = { 'mcp-session-id': session, 'mcp-protocol-version': LEGACY.protocolVersion };
    await this.#post(path, { authorization, ...headers }, { method: 'notifications/initialized' });
    return headers;
  }

  async #post(path, own, message) {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...own };
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    const answer = await this.#pool.request({ method: 'POST', path, headers, body });
    return { status: answer.statusCode, session: answer.headers['mcp-session-id'], text: await answer.body.text() };
  }
}
