/** Lets tasks that must not overlap run one after another, in the order they came. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  async run<T>(task: () => Promise<T>): Promise<T> {
    const before = this.#last;
    let end: () => void = () => undefined;
    this.#last = new Promise((resolve) => {
      end = resolve;
    });
    await before;
    try {
      return await task();
    } finally {
      end();
    }
  }
}
