// Asks the person through an agent of 2026-07-28: the call is answered with what to ask, and comes again
// with what the person said (2026-07-28 §basic/patterns/mrtr, §client/elicitation).
import { isJsonObject, type JsonObject } from '../wire/reply.ts';
import type { LinkQuestion } from './ask-in-stream.ts';

const KEY = 'keybearer/sign_in';

/** The result that makes the agent ask. */
export const inputRequired = ({ url, message }: LinkQuestion, requestState: string): JsonObject => ({
  resultType: 'input_required',
  inputRequests: { [KEY]: { method: 'elicitation/create', params: { mode: 'url', url, message } } },
  requestState,
});

/** What belongs to one try of a call, not to the call. */
export function retryMembers(params: JsonObject): JsonObject {
  const { requestState, inputResponses } = params;
  return {
    ...(requestState === undefined ? {} : { requestState }),
    ...(inputResponses === undefined ? {} : { inputResponses }),
  };
}

/** Without our state and the answer to our question. */
export function paramsBefore(params: JsonObject): JsonObject {
  const { requestState: _, inputResponses, ...rest } = params;
  if (!isJsonObject(inputResponses)) return rest;
  const { [KEY]: __, ...others } = inputResponses;
  return Object.keys(others).length === 0 ? rest : { ...rest, inputResponses: others };
}

/** No answer yet is no refusal: the agent may come back before its person has decided. */
export function isRefusal(params: JsonObject): boolean {
  const { inputResponses } = params;
  const answer = isJsonObject(inputResponses) ? inputResponses[KEY] : undefined;
  return answer !== undefined && !(isJsonObject(answer) && answer['action'] === 'accept');
}
