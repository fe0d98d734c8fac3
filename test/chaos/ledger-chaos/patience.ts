import { openView, type View } from '../lose-bookie.js';
import { pause } from '../processes.js';

/** ZooKeeper may be away just now. */
export async function openViewPatiently(metadata: string): Promise<View> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await openView(metadata);
    } catch (error) {
      if (attempt === 20) throw error;
      await pause(500);
    }
  }
}
