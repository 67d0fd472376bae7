/** An answer of a name server of which the first read says one thing, and the next another. */
export const twoFaced = (first: string, second: string): string => {
  let reads = 0;
  return { toString: () => (reads++ === 0 ? first : second) } as unknown as string;
};
