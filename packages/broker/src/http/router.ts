import type { Answer } from './answer.js';
import type { Call } from './call.js';

export type Handler = (call: Call) => Answer | Promise<Answer>;

interface Node {
  readonly children: Map<string, Node>;
  /** For `:name` parts. */
  parameter: { name: string; node: Node } | undefined;
  /** For a last part `*`: everything below, at least one part. */
  rest: Map<string, Handler> | undefined;
  readonly handlers: Map<string, Handler>;
}

export type Found =
  | { kind: 'handler'; handler: Handler; parameters: ReadonlyMap<string, string> }
  /** The path exists, but not with this method. */
  | { kind: 'wrong-method'; allowed: readonly string[] }
  | { kind: 'nothing' };

const everyMethod = '*';

/**
 * Finds the handler of a path that was split before it was decoded: a name may contain anything, also `%2F`. Fixed parts win over `:name` parts, those
 * over `*`, but only when they have the method.
 */
export class Router {
  readonly #root: Node = makeNode();

  /** `method` may be `*` for any. */
  add(method: string, path: string, handler: Handler): this {
    let node = this.#root;
    for (const part of path.split('/').filter((text) => text !== '')) {
      if (part === '*') {
        node.rest ??= new Map();
        node.rest.set(method, handler);
        return this;
      }
      node = part.startsWith(':') ? parameterChild(node, part.slice(1)) : fixedChild(node, part);
    }
    node.handlers.set(method, handler);
    return this;
  }

  find(method: string, segments: readonly string[]): Found {
    const search = new Search(method === 'HEAD' ? 'GET' : method, segments);
    const handler = search.from(this.#root, 0);
    if (handler !== undefined) return { kind: 'handler', handler, parameters: search.parameters };
    return search.allowed.size === 0 ? { kind: 'nothing' } : { kind: 'wrong-method', allowed: [...search.allowed].sort() };
  }
}

class Search {
  readonly parameters = new Map<string, string>();
  readonly allowed = new Set<string>();
  readonly #method: string;
  readonly #segments: readonly string[];

  constructor(method: string, segments: readonly string[]) {
    this.#method = method;
    this.#segments = segments;
  }

  from(node: Node, index: number): Handler | undefined {
    const segment = this.#segments[index];
    if (segment === undefined) return this.#choose(node.handlers);
    const fixed = node.children.get(segment);
    const found = fixed === undefined ? undefined : this.from(fixed, index + 1);
    if (found !== undefined) return found;
    if (node.parameter !== undefined) {
      const inner = this.from(node.parameter.node, index + 1);
      if (inner !== undefined) {
        this.parameters.set(node.parameter.name, segment);
        return inner;
      }
    }
    return node.rest === undefined ? undefined : this.#choose(node.rest);
  }

  #choose(handlers: ReadonlyMap<string, Handler>): Handler | undefined {
    const handler = handlers.get(this.#method) ?? handlers.get(everyMethod);
    if (handler === undefined) for (const method of handlers.keys()) this.allowed.add(method);
    return handler;
  }
}

function makeNode(): Node {
  return { children: new Map(), parameter: undefined, rest: undefined, handlers: new Map() };
}

function fixedChild(node: Node, part: string): Node {
  const known = node.children.get(part);
  if (known !== undefined) return known;
  const child = makeNode();
  node.children.set(part, child);
  return child;
}

function parameterChild(node: Node, name: string): Node {
  node.parameter ??= { name, node: makeNode() };
  if (node.parameter.name !== name) throw new Error(`two names for one part of a path: ${node.parameter.name} and ${name}`);
  return node.parameter.node;
}
