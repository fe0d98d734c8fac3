const none = -1;

/**
 * Chains of ranges of entry ids, newest first, many chains in a few typed arrays: 29 bytes a range and no object each. The write cache keeps one chain
 * of batches per ledger, the open entry log one of runs, the ledger table one of "which log holds it".
 *
 * A chain is named by its newest node ("head", -1 when empty), which its owner keeps. As long as ranges were added in ascending order, finding takes a
 * logarithmic number of steps (each node also points to one further back, as in a skew-binary list); ranges added out of order are walked.
 */
export class RangeChains {
  #first = new Float64Array(0);
  #last = new Float64Array(0);
  #previous = new Int32Array(0);
  #jump = new Int32Array(0);
  /** Position in the chain from 1, negative when this or an older range was out of order. */
  #depth = new Int32Array(0);
  #count = 0;
  #free = none;

  /** Nodes are numbered from 0 below this: the size for arrays that carry more about them. */
  get nodesMax(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#first.length * 28;
  }

  /** Adds a range before `head` and returns the new head. */
  push(head: number, first: number, last: number): number {
    const node = this.#take();
    this.#first[node] = first;
    this.#last[node] = last;
    this.#previous[node] = head;
    if (head === none) {
      this.#depth[node] = 1;
      this.#jump[node] = none;
      return node;
    }
    const headDepth = this.#depth[head] as number;
    const isAscending = headDepth > 0 && first > (this.#last[head] as number);
    this.#depth[node] = isAscending ? headDepth + 1 : -Math.abs(headDepth) - 1;
    this.#jump[node] = isAscending ? this.#jumpFrom(head) : none;
    return node;
  }

  /** The newest node, from `head` on, whose range contains `entryId`, or -1. To look further: `find(previous(node), entryId)`. */
  find(head: number, entryId: number): number {
    let node = head;
    while (node !== none) {
      const isOrdered = (this.#depth[node] as number) > 0;
      if (entryId > (this.#last[node] as number)) {
        if (isOrdered) return none;
        node = this.#previous[node] as number;
      } else if (entryId >= (this.#first[node] as number)) {
        return node;
      } else {
        const jump = isOrdered ? (this.#jump[node] as number) : none;
        // Everything between here and a jump target that still lies above is above, too.
        node = jump !== none && (this.#first[jump] as number) >= entryId ? jump : (this.#previous[node] as number);
      }
    }
    return none;
  }

  first(node: number): number {
    return this.#first[node] as number;
  }

  last(node: number): number {
    return this.#last[node] as number;
  }

  /** The next older node of the chain, or -1. */
  previous(node: number): number {
    return this.#previous[node] as number;
  }

  /** True when the ranges of the chain ascend and do not overlap. */
  isAscending(head: number): boolean {
    return head === none || (this.#depth[head] as number) > 0;
  }

  /** The highest entry id of a chain, or -1. */
  lastId(head: number): number {
    if (head === none) return none;
    let max = this.#last[head] as number;
    for (let node = head; node !== none && (this.#depth[node] as number) < 0; ) {
      node = this.#previous[node] as number;
      if (node !== none) max = Math.max(max, this.#last[node] as number);
    }
    return max;
  }

  /** Nodes of a chain, oldest first. */
  oldestFirst(head: number): number[] {
    const nodes: number[] = [];
    for (let node = head; node !== none; node = this.#previous[node] as number) nodes.push(node);
    return nodes.reverse();
  }

  /** Gives the nodes of a chain back. */
  free(head: number): void {
    for (let node = head; node !== none; ) {
      const previous = this.#previous[node] as number;
      this.#previous[node] = this.#free;
      this.#free = node;
      node = previous;
    }
  }

  clear(): void {
    this.#count = 0;
    this.#free = none;
  }

  #jumpFrom(head: number): number {
    const jump = this.#jump[head] as number;
    if (jump === none) return head;
    const further = this.#jump[jump] as number;
    const depthOf = (node: number): number => (node === none ? 0 : (this.#depth[node] as number));
    return depthOf(head) - depthOf(jump) === depthOf(jump) - depthOf(further) ? further : head;
  }

  #take(): number {
    if (this.#free !== none) {
      const node = this.#free;
      this.#free = this.#previous[node] as number;
      return node;
    }
    if (this.#count === this.#first.length) this.#grow();
    return this.#count++;
  }

  #grow(): void {
    const length = Math.max(64, Math.ceil(this.#first.length * 1.5));
    this.#first = grown(this.#first, new Float64Array(length));
    this.#last = grown(this.#last, new Float64Array(length));
    this.#previous = grown(this.#previous, new Int32Array(length));
    this.#jump = grown(this.#jump, new Int32Array(length));
    this.#depth = grown(this.#depth, new Int32Array(length));
  }
}

/** `to` with the content of `from` at its start: how the typed columns of this package grow. */
export function grown<T extends Float64Array | Int32Array | Uint32Array | Uint8Array>(from: T, to: T): T {
  to.set(from as never);
  return to;
}
