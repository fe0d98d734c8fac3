/** Blanks `//` and block comments outside of strings; every other character keeps its place, so parse errors name the right one. */
export function withoutJsonComments(text: string): string {
  return text.replaceAll(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (match) =>
    match.startsWith('"') ? match : match.replaceAll(/[^\n]/g, ' '),
  );
}
