// One child and the peer that speaks with it: JSON-RPC by the line over its input and output.

import type { StdioTransport, UpstreamServer } from '../catalog/upstream-server.ts';
import { type Credential, ownerKey } from '../credential/credential.ts';
import type { Clock } from '../shared/clock.ts';
import { NotRunError, OwnError, ProxyError } from '../shared/errors.ts';
import type { Logger } from '../shared/logger.ts';
import { waitFor } from '../shared/single-flight.ts';
import type { Implementation } from '../wire/envelope.ts';
import { Echo } from './echo.ts';
import { knownSecrets } from './known-secrets.ts';
import { LineReader } from './line-reader.ts';
import { greet } from './peer-greeting.ts';
import { RpcPeer, type Send } from './rpc-peer.ts';
import { StderrLog } from './stderr-log.ts';
import { secretsOf } from './stdio-env.ts';
import { type ProcessDeps, type StdioProcess, startProcess } from './stdio-process.ts';
import type { StartPlace } from './stdio-starts.ts';

/**
 * Reading one message takes the time of all, about a hundredth of a second for this much. Who registers a
 * server for larger results (`maxResultBytes`) gets them through: then a line may be as much, and its envelope.
 */
const MAX_LINE_BYTES = 4 * 1024 * 1024;
const MAX_ENVELOPE_BYTES = 64 * 1024;
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
const MAX_STRAY_LINES = 1_000;
/** A server that works may say something on the wrong stream now and then, for days. */
const MAX_STRAY_LINES_BETWEEN = 10_000;
/** Taken of one stream before the others have their turn. */
const LINES_AT_ONCE = 64;
/** A command that ended by itself this soon was of no use. */
const SOON_MS = 5_000;

export interface StdioLinkDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly client: Implementation;
}

export class StdioLink {
  readonly peer: RpcPeer;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #log: StderrLog;
  readonly #reader: LineReader;
  #process: StdioProcess | undefined;
  /** How the child ended, when it ended by itself. */
  #ended: string | undefined;
  /** Epoch ms; undefined before it was ready. */
  #greetedAt: number | undefined;
  /** Since the last message. */
  #strayLines = 0;
  readonly #place: StartPlace;

  constructor(
    deps: StdioLinkDeps,
    server: UpstreamServer,
    transport: StdioTransport,
    credential: Credential,
    place: StartPlace,
  ) {
    this.#place = place;
    const owner = credential.kind === 'none' ? '' : ownerKey(credential.owner);
    this.#clock = deps.clock;
    this.#logger = deps.logger.child({ tenantId: server.tenantId, server: server.name, owner });
    this.#log = new StderrLog(deps.clock, this.#logger, secretsOf(transport, credential));
    const echo = new Echo(knownSecrets(transport, server.credential, credential));
    this.peer = new RpcPeer({ clock: deps.clock, logger: this.#logger, client: deps.client, send: this.#send, echo });
    const maxBytes = Math.max(MAX_LINE_BYTES, server.maxResultBytes + MAX_ENVELOPE_BYTES);
    this.#reader = new LineReader(maxBytes, {
      line: (line) => this.#line(line),
      tooLong: (ends) => this.peer.receiveTooLong(ends, maxBytes),
    });
  }

  get hasStarted(): boolean {
    return this.#process !== undefined;
  }

  async start(command: Parameters<typeof startProcess>[0], deps: ProcessDeps): Promise<void> {
    const ears = {
      stdout: (chunk: Buffer) => {
        const left = this.#reader.push(chunk, LINES_AT_ONCE);
        this.peer.flush();
        return left;
      },
      stderr: (chunk: Buffer) => this.#log.push(chunk, LINES_AT_ONCE),
      ended: (how: string) => this.#onEnded(how),
    };
    this.#process = await startProcess(command, ears, deps);
  }

  async greet(client: Implementation, signal: AbortSignal): ReturnType<typeof greet> {
    try {
      const greeting = await waitFor(greet(this.peer, client, signal), signal);
      this.#greetedAt = this.#clock.now();
      return greeting;
    } catch (error) {
      if (this.#ended === undefined || signal.aborted) throw error;
      const tail = this.#log.tail;
      throw new NotRunError(`The server's command ${this.#ended} before it was ready.`, {
        cause: tail === '' ? error : new OwnError(tail.slice(-300)),
      });
    }
  }

  async close(): Promise<void> {
    if (this.#ended === undefined) this.#place.worked();
    await this.#process?.close();
  }

  async kill(): Promise<void> {
    this.peer.close(new NotRunError('The connection to the server was not established.'));
    await this.#process?.kill();
  }

  #line(line: Buffer): void {
    if (line.length === 0) return;
    const isMessage = line.includes(0x7b) && this.peer.receive(line);
    if (isMessage) this.#strayLines = 0;
    else this.#stray(line);
  }

  /** Many servers print a banner; one that prints without end is no server, or logs to the wrong stream. */
  #stray(line: Buffer): void {
    this.#log.stray(line);
    this.#strayLines += 1;
    const limit = this.#greetedAt === undefined ? MAX_STRAY_LINES : MAX_STRAY_LINES_BETWEEN;
    if (this.#strayLines < limit || this.peer.isClosed) return;
    this.peer.close(
      new ProxyError(
        'upstream_protocol',
        `The server's command wrote ${limit} lines to its standard output that are no MCP messages. Is it an MCP server, and does it log to standard error?`,
      ),
    );
    void this.#process?.close();
  }

  #onEnded(how: string): void {
    this.#ended = how;
    // No news when we ended it ourselves.
    if (!this.peer.isClosed && this.#greetedAt !== undefined) {
      this.#logger.warn({ how }, 'the command of a server ended by itself');
      if (this.#clock.now() - this.#greetedAt < SOON_MS)
        this.#place.failed(`The server's command ${how} soon after its start.`);
      else this.#place.worked();
    }
    this.peer.close(new ProxyError('upstream_unavailable', "The server's process ended; the call may have run."));
  }

  readonly #send: Send = (text, done) => {
    const child = this.#process;
    if (child === undefined || child.unreadBytes + text.length > MAX_UNREAD_BYTES) {
      done(new NotRunError('The server does not read its input.'));
      return;
    }
    child.write(`${text}\n`, (cause) => {
      // Lines are handed over several at a time, so some of them may have been read.
      done(
        cause
          ? new ProxyError('upstream_unavailable', "The server's process closed its input; the call may have run.", {
              cause,
            })
          : undefined,
      );
    });
  };
}
