// Asks the person through an agent of 2025-11-25 while its call stays open: a request of ours goes over
// the call's own stream, and the agent posts the answer (2025-11-25 §client/elicitation, URL mode).
import { randomId } from '../shared/id.ts';
import { asciiJson, isJsonObject, type JsonObject } from '../wire/reply.ts';
import type { Call, Questions } from './operations.ts';

/** Whether an agent can show its person a link, by what it said it can do. */
export function canShowLinks(capabilities: JsonObject): boolean {
  const { elicitation } = capabilities as { elicitation?: unknown };
  return isJsonObject(elicitation) && isJsonObject(elicitation['url']);
}

export interface LinkQuestion {
  readonly url: string;
  readonly message: string;
}

export interface OpenQuestion {
  /** Resolves when the person said no, or the agent could not ask; with `isAcceptEnough` also when they agreed. */
  readonly over: Promise<void>;
  /** Takes back what is not answered; tells the agent when what was asked for is done. */
  close(isDone: boolean): void;
}

export function askInStream(
  { hearing }: Pick<Call, 'hearing'>,
  questions: Questions,
  { url, message }: LinkQuestion,
  isAcceptEnough: boolean,
): OpenQuestion {
  const elicitationId = randomId(16);
  const { promise: over, resolve } = withResolver();
  const idText = questions.open(({ action }: { action?: unknown }) => {
    if (action !== 'accept' || isAcceptEnough) resolve();
  });
  const say = (message: string): void => {
    hearing.message(message);
    void hearing.flush();
  };
  const params = asciiJson({ mode: 'url', elicitationId, url, message });
  say(`{"jsonrpc":"2.0","id":${idText},"method":"elicitation/create","params":${params}}`);
  return {
    over,
    close(isDone) {
      if (isDone)
        say(
          `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"${elicitationId}"}}`,
        );
      if (questions.close(idText))
        say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${idText}}}`);
    },
  };
}

function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
