// Asks a person to sign in the way their agent can show it, and says what came of it. One question a call:
// in the call's own stream (2025-11-25), or as an answer that the agent comes back with (2026-07-28).
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { CredentialBroker } from '../credential/broker.ts';
import { signInOf } from '../credential/credential.ts';
import type { Caller } from '../identity/caller.ts';
import type { Clock } from '../shared/clock.ts';
import { type ProxyError, SignInRequiredError } from '../shared/errors.ts';
import { asciiJson, type JsonObject } from '../wire/reply.ts';
import { inputRequired, isRefusal, paramsBefore, retryMembers } from './ask-by-retry.ts';
import { askInStream, canShowLinks } from './ask-in-stream.ts';
import type { Call } from './operations.ts';
import type { RequestStates, StateOf } from './request-state.ts';
import type { SignInOutcome, SignInWaits } from './wait-for-sign-in.ts';

export interface Asking {
  readonly caller: Caller;
  readonly server: UpstreamServer;
  readonly call: Call;
  /** The server's own name for the tool; undefined for the tool that connects. */
  readonly tool: string | undefined;
  /** Whether the call stays open until the person has signed in. `never`: only until they were shown the link. */
  readonly waits: 'if_asked' | 'always' | 'never';
}

export type Asked =
  | { readonly kind: SignInOutcome }
  /** The agent has to ask, and to come again. */
  | { readonly kind: 'input_required'; readonly result: JsonObject };

export type Resumed =
  /** With the params as they were before anybody was asked. */
  | { readonly kind: 'signed_in'; readonly call: Call }
  | { readonly kind: 'denied' | 'not_yet'; readonly link: ProxyError };

export interface AskSignIn {
  ask(asking: Asking, link: SignInRequiredError, signal: AbortSignal): Promise<Asked>;
  /** A call that comes again with a state of ours. Throws `invalid_request` when it is not for this call. */
  resume(asking: Asking, stateText: string, signal: AbortSignal): Promise<Resumed>;
}

export interface AskSignInDeps {
  readonly broker: Pick<CredentialBroker, 'look' | 'isRefused' | 'askSignIn'>;
  readonly waits: SignInWaits;
  readonly states: RequestStates;
  readonly clock: Clock;
  readonly waitMs: number;
}

/** Of five seconds each; between two of them an agent that hears no progress is told that its call is open. */
const QUIET_STEPS = 3;

export function createAskSignIn({ broker, waits, states, clock, waitMs }: AskSignInDeps): AskSignIn {
  const wait = (
    { caller, server, call }: Asking,
    url: string,
    signal: AbortSignal,
    more: { until?: Promise<void>; refused?: string | undefined; isSilent?: boolean } = {},
  ): Promise<SignInOutcome> => {
    const isSilent = call.progressToken === undefined || more.isSilent === true;
    const onWaiting = (step: number): void => {
      if (!isSilent) reportWaiting(call, server, url, step);
      else if (step % QUIET_STEPS === 1) call.hearing.stillHere();
    };
    return waits.wait({ caller, server, forMs: waitMs, onWaiting, until: more.until, refused: more.refused }, signal);
  };

  const inStream = async (
    asking: Asking,
    { url }: SignInRequiredError,
    signal: AbortSignal,
  ): Promise<SignInOutcome> => {
    const { call, caller, server } = asking;
    if (call.questions === undefined || !waits.hasRoom(caller.tenantId)) return 'not_yet';
    const isAcceptEnough = asking.waits === 'never';
    const question = askInStream(call, call.questions, { url, message: messageFor(server) }, isAcceptEnough);
    let outcome: SignInOutcome = 'not_yet';
    try {
      outcome = await wait(asking, url, signal, { until: question.over, isSilent: isAcceptEnough });
    } finally {
      question.close(outcome === 'signed_in');
    }
    return outcome;
  };

  /** Says nothing to an agent whose person is done already. */
  const waitAgain = async (
    asking: Asking,
    url: string,
    refused: string | undefined,
    signal: AbortSignal,
  ): Promise<SignInOutcome> => {
    if (await waits.isThere({ ...asking, refused })) return 'signed_in';
    return asking.waits === 'never' ? 'not_yet' : wait(asking, url, signal, { refused });
  };

  /** Undefined when the call brought more than a state can carry. */
  const inAnswer = async (
    asking: Asking,
    { url, expiresAt }: SignInRequiredError,
    signal: AbortSignal,
  ): Promise<JsonObject | undefined> => {
    const { server, call } = asking;
    const requestState = await states.seal(stateOf(asking), {
      url,
      linkExpiresAt: expiresAt,
      refused: await refusedSignIn(asking, signal),
      resumes: retryMembers(call.params),
    });
    if (requestState === undefined) return undefined;
    return inputRequired({ url, message: messageFor(server) }, requestState);
  };

  /** The next try may come to a node that does not know of the refusal; without it, it would run in vain once. */
  const refusedSignIn = async ({ caller, server }: Asking, signal: AbortSignal): Promise<string | undefined> => {
    const found = await broker.look(server, caller.principalId, signal).catch(() => undefined);
    return found?.kind === 'static' && broker.isRefused(server, found) ? signInOf(found) : undefined;
  };

  return {
    async ask(asking, link, signal) {
      const { call } = asking;
      if (call.questions !== undefined) return { kind: await inStream(asking, link, signal) };
      if (call.era === 'modern' && canShowLinks(call.capabilities)) {
        const result = await inAnswer(asking, link, signal);
        if (result !== undefined) return { kind: 'input_required', result };
      }
      return { kind: asking.waits === 'always' ? await wait(asking, link.url, signal) : 'not_yet' };
    },

    async resume(asking, stateText, signal) {
      const { call, caller, server } = asking;
      const { url, linkExpiresAt, refused, resumes } = await states.open(stateOf(asking), stateText);
      const kind = isRefusal(call.params) ? 'not_yet' : await waitAgain(asking, url, refused, signal);
      if (kind === 'signed_in')
        return { kind, call: { ...call, params: { ...paramsBefore(call.params), ...resumes } } };
      const link =
        linkExpiresAt > clock.now()
          ? new SignInRequiredError(server.name, url, linkExpiresAt)
          : await broker.askSignIn(server, caller.principalId);
      return { kind, link };
    },
  };
}

const stateOf = ({ caller, server, tool, call }: Asking): StateOf => ({ caller, server, tool, params: call.params });

const messageFor = ({ title, name }: UpstreamServer): string =>
  `${title ?? name} needs you to sign in before your agent can use it for you. Open the link to do so.`;

/** Steps below 1: where the call goes on, the server's own progress has to be more (2025-11-25 §basic/utilities/progress). */
function reportWaiting(call: Call, server: UpstreamServer, url: string, step: number): void {
  const text = asciiJson(`Waiting for the person to sign in to ${server.name}: ${url}`);
  call.hearing.message(
    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${call.progressToken},"progress":${step / 1_000},"message":${text}}}`,
  );
  void call.hearing.flush();
}
