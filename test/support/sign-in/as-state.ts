// All that a scripted authorization server knows and has seen, and what it does when nobody tells it otherwise.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody } from '../upstreams/listener.ts';
import { isObject } from '../upstreams/message.ts';
import { Watched } from '../upstreams/watched.ts';
import { authorize } from './as-authorize.ts';
import { AsClients } from './as-clients.ts';
import { AsGrants } from './as-grants.ts';
import { isMetadataPath, metadataOf } from './as-metadata.ts';
import {
  type AnswerHook,
  type AsAnswer,
  type AsOptions,
  type AsPlace,
  type AsRequest,
  type AsSettings,
  defaultAsSettings,
} from './as-options.ts';
import { token } from './as-token.ts';
import { OAuthError } from './oauth-error.ts';

export class AsState extends Watched {
  readonly settings: AsSettings;
  readonly grants: AsGrants;
  readonly clients: AsClients;
  readonly seen: Record<AsPlace, AsRequest[]> = { metadata: [], authorize: [], token: [], register: [], revoke: [] };
  readonly once: Record<AsPlace, AnswerHook[]> = { metadata: [], authorize: [], token: [], register: [], revoke: [] };
  readonly always = new Map<AsPlace, AnswerHook>();
  readonly issuerPath: string;
  issuer = '';

  constructor({ issuerPath = '', ...settings }: AsOptions) {
    super();
    this.issuerPath = issuerPath;
    this.settings = { ...defaultAsSettings, ...settings };
    this.grants = new AsGrants(this.settings);
    this.clients = new AsClients(this.settings, () => [this.issuer, `${this.issuer}/token`]);
  }

  placeOf(path: string): AsPlace | undefined {
    if (isMetadataPath(path, this.issuerPath, this.settings)) return 'metadata';
    const name = path.startsWith(`${this.issuerPath}/`) ? path.slice(this.issuerPath.length + 1) : '';
    return name === 'authorize' || name === 'token' || name === 'register' || name === 'revoke' ? name : undefined;
  }

  async work(request: AsRequest): Promise<AsAnswer> {
    const { settings, clients, grants } = this;
    const deps = { settings, clients, grants, issuer: () => this.issuer };
    try {
      switch (request.place) {
        case 'metadata':
          return { status: 200, body: metadataOf(this.issuer, this.settings) };
        case 'authorize':
          return await authorize(deps, request);
        case 'token':
          return await token(deps, request);
        case 'register':
          return this.clients.register(request);
        case 'revoke':
          await this.clients.authenticate(request);
          this.grants.revoke(request.params['token'] ?? '');
          return { status: 200 };
      }
    } catch (error) {
      if (error instanceof OAuthError) return { status: error.status, body: { error: error.code } };
      throw error;
    }
  }
}

export async function serve(state: AsState, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(req.url ?? '/', 'http://localhost');
  const text = await readBody(req);
  const place = state.placeOf(url.pathname);
  if (place === undefined) return send(res, { status: 404, body: { error: 'not_found' } });
  const request = requestOf(place, req, url, text);
  state.seen[place].push(request);
  state.changed();
  const hook = state.once[place].shift() ?? state.always.get(place);
  const work = (): Promise<AsAnswer> => state.work(request);
  const answer = hook === undefined ? await work() : await hook(request, work);
  if (answer === 'drop') res.destroy();
  else send(res, answer);
  state.changed();
}

function requestOf(place: AsPlace, req: IncomingMessage, url: URL, text: string): AsRequest {
  const isJson = String(req.headers['content-type']).startsWith('application/json');
  const form = isJson ? [] : [...new URLSearchParams(text)];
  const json: unknown = isJson ? JSON.parse(text) : {};
  return {
    place,
    method: req.method ?? '',
    path: url.pathname,
    headers: req.headers,
    params: Object.fromEntries([...url.searchParams, ...form]),
    json: isObject(json) ? json : {},
  };
}

function send(res: ServerResponse, { status, headers = {}, body = '' }: AsAnswer): void {
  if (res.destroyed) return;
  const type = typeof body === 'string' ? {} : { 'content-type': 'application/json' };
  res.writeHead(status, { 'cache-control': 'no-store', ...type, ...headers });
  res.end(typeof body === 'string' ? body : JSON.stringify(body));
}
