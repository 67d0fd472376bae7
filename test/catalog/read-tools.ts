// A whole list at once.
import { listedText, type ReadTools, type Tool, ToolReader } from '../../src/catalog/tool.ts';

export function readTools(listed: readonly unknown[]): ReadTools {
  const reader = new ToolReader();
  for (const item of listed) reader.add(item);
  return reader.end();
}

/** A tool as it is listed under its own name. */
export const definitionOf = (tool: Tool | undefined): unknown =>
  tool === undefined ? undefined : (JSON.parse(listedText(tool.name, tool)) as unknown);
