// What stands behind the pages when people sign in elsewhere: flows and an identity provider that note all
// they were asked for.
import { randomBytes } from 'node:crypto';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type {
  SignInAttempt,
  SignInBegun,
  SignInEnd,
  SignInFlows,
  SignInPreview,
} from '../../src/credential/sign-in-flows.ts';
import type { Ticket } from '../../src/credential/ticket-store.ts';
import type { IdentityProvider, PersonRequest, PersonSignIn } from '../../src/identity/person-sign-in.ts';
import { ProxyError } from '../../src/shared/errors.ts';

export const CONTEXT = 'ctx-notes';

export class FakeFlows implements SignInFlows {
  /** `previewed`, `begun`, `finished` with whom. */
  readonly done: string[] = [];
  readonly attempts = new Map<string, SignInAttempt>();
  readonly states = new Map<string, string>();
  preview_: Partial<SignInPreview> = {};
  end: SignInEnd = { kind: 'connected' };
  /** What happens before a finish ends. */
  beforeEnd: () => Promise<void> = async () => undefined;
  failure: Error | undefined;

  async preview(): Promise<SignInPreview> {
    if (this.failure !== undefined) throw this.failure;
    return {
      authorizationOrigin: 'https://login.notes.example',
      issuer: 'https://as.notes.example',
      scopes: ['notes:read', 'notes:write'],
      digest: 'as-shown',
      ...this.preview_,
    };
  }

  async begin(
    ticket: Ticket,
    server: UpstreamServer,
    browserHash: Buffer,
    _signal: AbortSignal,
    shown?: string,
  ): Promise<SignInBegun> {
    if (this.failure !== undefined) throw this.failure;
    if (shown !== undefined && shown !== (await this.preview()).digest) return { kind: 'changed' };
    this.done.push(`begun ${ticket.principalId}`);
    const [id, state] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')];
    const { tenantId, principalId } = ticket;
    this.attempts.set(id, { id, tenantId, principalId, server, browserHash, state: 'open' });
    this.states.set(state, id);
    return { kind: 'begun', id, url: `https://login.notes.example/authorize?state=${state}` };
  }

  async findByState(contextId: string, state: string): Promise<SignInAttempt | undefined> {
    return contextId === CONTEXT ? this.attempts.get(this.states.get(state) ?? '') : undefined;
  }

  async find(id: string): Promise<SignInAttempt | undefined> {
    return this.attempts.get(id);
  }

  async finish({ id }: SignInAttempt): Promise<SignInEnd> {
    const attempt = this.attempts.get(id);
    if (attempt?.state !== 'open') return { kind: 'taken' };
    this.attempts.set(id, { ...attempt, state: 'taken' });
    this.done.push(`finished ${attempt.principalId}`);
    await this.beforeEnd();
    if (this.end.kind !== 'taken') this.attempts.set(id, { ...attempt, state: this.end.kind });
    return this.end;
  }
}

export class FakeIdp implements PersonSignIn {
  readonly asked: PersonRequest[] = [];
  readonly proved: PersonRequest[] = [];
  readonly providers: IdentityProvider[] = [];

  async authorizationUrl(provider: IdentityProvider, request: PersonRequest): Promise<string> {
    this.providers.push(provider);
    this.asked.push(request);
    return `${provider.issuer}/authorize?state=${request.state}`;
  }

  /** `code` is whom the provider names. */
  async prove(_provider: IdentityProvider, request: PersonRequest, query: URLSearchParams): Promise<string> {
    this.proved.push(request);
    const begun = this.asked.find(({ state }) => state === query.get('state'));
    if (
      begun?.nonce !== request.nonce ||
      begun.verifier !== request.verifier ||
      begun.redirectUri !== request.redirectUri
    )
      throw new Error('not what was asked with');
    const who = query.get('code');
    if (who === null) throw new ProxyError('denied', 'The sign-in was not allowed.');
    return who;
  }
}
