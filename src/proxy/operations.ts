// What an edge may ask for. Rules live behind these, never in an edge.
import type { Scope } from '../catalog/catalog.ts';
import type { ItemKind } from '../catalog/list-kind.ts';
import type { View } from '../catalog/view.ts';
import type { Hearing } from '../connection/connection.ts';
import type { Caller } from '../identity/caller.ts';
import type { SignInRequiredError } from '../shared/errors.ts';
import type { Era } from '../wire/era.ts';
import type { LogLevel } from '../wire/log-level.ts';
import type { Edit, JsonObject, Reply } from '../wire/reply.ts';

/** What an agent hears while its call runs. */
export interface AgentHearing extends Hearing {
  /** Says that the call is still open, and nothing else: who hears nothing for long takes it for dead. */
  stillHere(): void;
}

/** What an agent asks for, in its own words. */
export interface Request {
  readonly scope: Scope;
  /** As they came; carried on but for names of ours and the hop's own `_meta`. */
  readonly params: JsonObject;
  readonly era: Era;
  /** What the agent said it can do; a modern agent's is told to modern servers. */
  readonly capabilities: JsonObject;
  /** JSON text of the agent's progress token. */
  readonly progressToken: string | undefined;
  /** What it wants to hear of a server's log; undefined where it did not say. */
  readonly logLevel: LogLevel | undefined;
  readonly hearing: AgentHearing;
  /** Makes the operation's own signal fire, with this reason: how a timeout ends the request. */
  readonly abort: (reason: Error) => void;
}

/** A call of a tool. */
export interface Call extends Request {
  /** Name as listed to the agent. */
  readonly name: string;
  /** How an agent that can show links is asked while its call stays open; undefined when it cannot be. */
  readonly questions: Questions | undefined;
}

/** Port: the way by which an agent's answers come back to whoever asked it. The question goes over `hearing`. */
export interface Questions {
  /** Gives the id to ask under, as JSON text. `answered` is called once at most; an error is an empty result. */
  open(answered: (result: JsonObject) => void): string;
  /** An answer that comes later is nobody's. True when none had come. */
  close(idText: string): boolean;
}

export type Answer =
  /** The server's own answer: bytes, with these changes. */
  | { readonly kind: 'reply'; readonly reply: Reply; readonly edits: readonly Edit[] }
  /** A result of our own. */
  | { readonly kind: 'result'; readonly result: JsonObject };

/** A page of a list that was put together of those of several servers. */
export interface Page {
  readonly kind: 'page';
  /** The member in which the list stands. */
  readonly member: string;
  /** Each as JSON text. */
  readonly items: readonly string[];
  readonly nextCursor: string | undefined;
  readonly meta: JsonObject;
}

/** Errors, thrown or rejected with: any ProxyError; the signal's reason when it fires. */
export type CallTool = (caller: Caller, call: Call, signal: AbortSignal) => Promise<Answer>;

/** Undefined when the scope names nothing. */
export type ListTools = (caller: Caller, scope: Scope, signal: AbortSignal) => Promise<View | undefined>;

/** Waits for the sign-in that an error asked for, as long as its link lives: whether it happened. */
export type SignInDone = (caller: Caller, asked: SignInRequiredError, signal: AbortSignal) => Promise<boolean>;

/** Errors as `CallTool`; `not_found` for what is not there. */
type Ask<More> = (caller: Caller, request: Request & More, signal: AbortSignal) => Promise<Answer>;

/** Prompts, resources, and what is none of ours. */
export interface ItemOperations {
  readonly listItems: (
    caller: Caller,
    request: Request & { readonly kind: ItemKind },
    signal: AbortSignal,
  ) => Promise<Answer | Page>;
  readonly getPrompt: Ask<{ readonly name: string }>;
  readonly readResource: Ask<{ readonly uri: string }>;
  readonly complete: Ask<{ readonly ref: CompletionRef }>;
  /** Any other method, for the one server of the scope; undefined where there is none. */
  readonly pass: (
    caller: Caller,
    request: Request & { readonly method: string },
    signal: AbortSignal,
  ) => Promise<Answer | undefined>;
}

export type CompletionRef =
  | { readonly type: 'ref/prompt'; readonly name: string }
  | { readonly type: 'ref/resource'; readonly uri: string };

export interface Operations {
  readonly callTool: CallTool;
  readonly listTools: ListTools;
}
