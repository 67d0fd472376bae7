// What was asked of the agent of one session and is not answered yet. Only that session can answer.
import type { Questions } from '../proxy/operations.ts';
import type { JsonObject } from '../wire/reply.ts';

export class SessionQuestions implements Questions {
  readonly #open = new Map<string, (result: JsonObject) => void>();
  #asked = 0;

  open(answered: (result: JsonObject) => void): string {
    const idText = `"keybearer-${++this.#asked}"`;
    this.#open.set(idText, answered);
    return idText;
  }

  close(idText: string): boolean {
    return this.#open.delete(idText);
  }

  /** An answer to what was never asked, or is answered already, is ignored. */
  answer(idText: string, result: JsonObject): void {
    const answered = this.#open.get(idText);
    if (answered === undefined) return;
    this.#open.delete(idText);
    answered(result);
  }
}
