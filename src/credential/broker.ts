// Finds the credential that a call goes out with, renewed when it is due, or says where its person can sign
// in. Answers from memory on the warm path.
import { LRUCache } from 'lru-cache';
import { bindingOf } from '../catalog/binding.ts';
import { needsPerson, type UpstreamServer } from '../catalog/upstream-server.ts';
import type { Clock } from '../shared/clock.ts';
import { type CredentialRefusedError, ProxyError, SignInRequiredError } from '../shared/errors.ts';
import type { PrincipalId } from '../shared/id.ts';
import { adminHasTo } from './admin-has-to.ts';
import { type Credential, type Owner, ownerKey, signInOf } from './credential.ts';
import { credentialKey } from './credential-store.ts';
import { isExpired, renewalDueAt } from './grant.ts';
import type { Kept, KeptCredentials, Opened } from './kept-credentials.ts';
import { isOfOurOwn } from './obtain-tokens.ts';
import type { Renewed } from './renewal-failure.ts';
import { notNow, type Renewer } from './renewer.ts';
import type { SignInWish, Tickets } from './tickets.ts';

export interface CredentialBroker {
  /**
   * The credential for this server, on behalf of `principalId`; undefined when there is none. A
   * principal is only looked at where the credential is a person's own. Rejects with
   * `upstream_unavailable` when it has to be renewed and cannot be now; `signal` ends the wait for that.
   */
  find(
    server: UpstreamServer,
    principalId: PrincipalId | undefined,
    signal?: AbortSignal,
  ): Credential | undefined | Promise<Credential | undefined>;
  /** As `find`, from the database: before a person is asked, for they may have signed in on another node just now. */
  look(
    server: UpstreamServer,
    principalId: PrincipalId | undefined,
    signal?: AbortSignal,
  ): Promise<Credential | undefined>;
  /**
   * A version newer than the one that was refused: from the database, or from one renewal. Undefined when
   * only a new sign-in helps; rejects as `find` does.
   */
  afterRefusal(server: UpstreamServer, refused: Credential, signal?: AbortSignal): Promise<Credential | undefined>;
  /**
   * Remembers that the server did not take this version, so that nobody is told they are connected by it.
   * `toolName` is the tool that it was tried for, where it was for one.
   */
  refused(server: UpstreamServer, credential: Credential, error: CredentialRefusedError, toolName?: string): void;
  /** The server took this version for a call of `toolName`: what was remembered to the contrary is forgotten. */
  taken(server: UpstreamServer, credential: Credential, toolName: string): void;
  /** How this credential was refused the last time it was tried here, if it was. */
  refusalOf(server: UpstreamServer, credential: Credential): CredentialRefusedError | undefined;
  /** Whether this credential was refused the last time it was tried here. */
  isRefused(server: UpstreamServer, credential: Credential): boolean;
  /** The scopes that the grant behind this credential was asked for with; undefined when it is no grant. */
  scopesOf(server: UpstreamServer, credential: Credential): readonly string[] | undefined;
  /** The error that asks this person to sign in, or says what an admin has to do. */
  askSignIn(server: UpstreamServer, principalId: PrincipalId, wish?: SignInWish): Promise<ProxyError>;
}

export interface BrokerDeps {
  readonly kept: KeptCredentials;
  readonly renewer: Pick<Renewer, 'renew'>;
  readonly tickets: Pick<Tickets, 'issue'>;
  readonly clock: Clock;
}

interface Refusal {
  readonly version: string;
  readonly signIn: string;
  readonly error: CredentialRefusedError;
  readonly toolName: string | undefined;
}

const REFUSED = 10_000;
const QUIET = 10_000;
/** A grant that cannot be renewed but still is good is not tried with every call. */
const QUIET_MS = 30_000;
/** How long a call whose token still is good waits for a newer one. */
const SOON_MS = 1_500;
const NONE: Credential = { kind: 'none' };

export function createCredentialBroker({ kept, renewer, tickets, clock }: BrokerDeps): CredentialBroker {
  const refusals = new LRUCache<string, Refusal>({ max: REFUSED });
  /** Version and time until which its renewal is left alone. */
  const quiet = new LRUCache<string, { readonly version: string; readonly until: number }>({ max: QUIET });
  // Fingerprints are asked for with every call.
  const bindings = new WeakMap<UpstreamServer, string>();

  const bindingFor = (server: UpstreamServer): string => {
    let binding = bindings.get(server);
    if (binding === undefined) bindings.set(server, (binding = bindingOf(server)));
    return binding;
  };

  /** What may go out to this server at all: never what was given for another place (origin, header, command). */
  const meantFor = (server: UpstreamServer, { opened }: Kept): Opened | undefined =>
    opened === undefined || opened.binding !== bindingFor(server) ? undefined : opened;

  /** Ready to be sent as it is; 'due' when it has to be renewed, or asked for, first. */
  const ready = (server: UpstreamServer, owner: Owner, opened: Opened | undefined): Credential | undefined | 'due' => {
    if (opened === undefined) return isOfOurOwn(server) ? 'due' : undefined;
    const { content } = opened;
    if (content.kind === 'secret' || clock.now() < renewalDueAt(content.grant)) return toCredential(owner, opened);
    const isRenewable = content.grant.refreshToken !== undefined || isOfOurOwn(server);
    if (isExpired(content.grant, clock.now())) return isRenewable ? 'due' : undefined;
    const rest = quiet.get(keyOf(server, owner));
    const isLeftAlone = rest?.version === opened.version && clock.now() < rest.until;
    return isLeftAlone || !isRenewable ? toCredential(owner, opened) : 'due';
  };

  /** Undefined when it takes longer; the work goes on. */
  const soon = (work: Promise<Renewed>): Promise<Renewed | undefined> => {
    let cancel: (() => void) | undefined;
    const late = new Promise<undefined>((resolve) => {
      cancel = clock.after(SOON_MS, () => resolve(undefined));
    });
    return Promise.race([work, late]).finally(() => cancel?.());
  };

  const renewed = async (
    server: UpstreamServer,
    owner: Owner,
    opened: Opened | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Credential | undefined> => {
    const work = renewer.renew(server, owner, opened, 'due', signal);
    // Due is not over: it is used as long as it lasts, and a slow sign-in server holds up no call for long.
    const lasts = (): boolean => opened?.content.kind === 'grant' && !isExpired(opened.content.grant, clock.now());
    const result = lasts() ? await soon(work) : await work;
    if (result?.kind === 'renewed') return toCredential(owner, result.opened);
    if (opened !== undefined && lasts()) {
      quiet.set(keyOf(server, owner), { version: opened.version, until: clock.now() + QUIET_MS });
      return toCredential(owner, opened);
    }
    const late = result ?? (await work);
    if (late.kind === 'later') throw notNow(server, late);
    return late.kind === 'renewed' ? toCredential(owner, late.opened) : undefined;
  };

  const settle = (
    server: UpstreamServer,
    owner: Owner,
    entry: Kept,
    signal: AbortSignal | undefined,
  ): Credential | undefined | Promise<Credential | undefined> => {
    const opened = meantFor(server, entry);
    const found = ready(server, owner, opened);
    return found === 'due' ? renewed(server, owner, opened, signal) : found;
  };

  const refusalOf: CredentialBroker['refusalOf'] = (server, credential) => {
    if (credential.kind !== 'static') return undefined;
    const last = refusals.get(keyOf(server, credential.owner));
    if (last === undefined) return undefined;
    // A renewal brings a token that may be taken, but the same scopes again (RFC 6749 §6).
    const isStill =
      last.error.missingScopes === undefined
        ? last.version === credential.version
        : last.signIn === signInOf(credential);
    return isStill ? last.error : undefined;
  };

  return {
    find(server, principalId, signal) {
      const owner = ownerOf(server, principalId);
      if (owner === 'nobody') return NONE;
      if (owner === undefined) return undefined;
      const whose = ownerKey(owner);
      const entry = kept.get(server, whose);
      if (entry !== undefined) return settle(server, owner, entry, signal);
      return kept.find(server, whose).then((loaded) => settle(server, owner, loaded, signal));
    },

    async look(server, principalId, signal) {
      const owner = ownerOf(server, principalId);
      if (owner === 'nobody') return NONE;
      return owner === undefined ? undefined : settle(server, owner, await kept.load(server, ownerKey(owner)), signal);
    },

    async afterRefusal(server, refused, signal) {
      if (refused.kind === 'none') return undefined;
      const { owner, version } = refused;
      const opened = meantFor(server, await kept.load(server, ownerKey(owner)));
      if (opened === undefined) return undefined;
      if (opened.version !== version) return toCredential(owner, opened);
      if (opened.content.kind === 'secret') return undefined;
      const result = await renewer.renew(server, owner, opened, 'refused', signal);
      if (result.kind === 'later') throw notNow(server, result);
      return result.kind === 'renewed' ? toCredential(owner, result.opened) : undefined;
    },

    refused(server, credential, error, toolName) {
      if (credential.kind !== 'static') return;
      const { owner, version } = credential;
      refusals.set(keyOf(server, owner), { version, signIn: signInOf(credential), error, toolName });
    },

    taken(server, credential, toolName) {
      // With each call; nearly always nothing is remembered.
      if (refusals.size === 0 || credential.kind !== 'static') return;
      if (refusalOf(server, credential) === undefined) return;
      const key = keyOf(server, credential.owner);
      const last = refusals.peek(key);
      // Another tool needs other scopes: that it works says nothing about this one.
      if (last?.error.missingScopes === undefined || last.toolName === toolName) refusals.delete(key);
    },

    refusalOf,
    isRefused: (server, credential) => refusalOf(server, credential) !== undefined,

    scopesOf(server, credential) {
      if (credential.kind === 'none') return undefined;
      const opened = kept.get(server, ownerKey(credential.owner))?.opened;
      return opened?.version === credential.version && opened.content.kind === 'grant'
        ? opened.content.grant.scopes
        : undefined;
    },

    async askSignIn(server, principalId, wish) {
      if (!needsPerson(server)) {
        const entry = kept.get(server, ownerKey({ kind: 'tenant' }));
        return adminHasTo(server, entry !== undefined && meantFor(server, entry) !== undefined);
      }
      const link = await tickets.issue(server.tenantId, principalId, server, wish);
      return new SignInRequiredError(server.name, link.url, link.expiresAt);
    },
  };
}

function toCredential(owner: Owner, { version, content }: Opened): Credential {
  if (content.kind === 'secret') return { kind: 'static', owner, version, secret: content.secret };
  const { accessToken, signInId, signedInAt } = content.grant;
  return { kind: 'static', owner, version, secret: accessToken, signInId, signedInAt };
}

/** Whose credential it is: 'nobody' when none is needed, undefined when its person is not known. */
function ownerOf(server: UpstreamServer, principalId: PrincipalId | undefined): Owner | 'nobody' | undefined {
  if (server.credential === undefined) return 'nobody';
  if (server.credential.owner === 'tenant') return { kind: 'tenant' };
  return principalId === undefined ? undefined : { kind: 'principal', principalId };
}

const keyOf = ({ tenantId, id }: UpstreamServer, owner: Owner): string =>
  credentialKey({ tenantId, serverId: id, owner: ownerKey(owner) });
