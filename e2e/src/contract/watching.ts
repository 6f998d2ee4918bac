// SPDX-License-Identifier: Apache-2.0
/** A watch as frames, read without the informer so that the contract does not depend on it. */
import type { ApiClient, KubeObject, StatusDetails } from '@csi-sidecars/runtime';

export interface Frame {
  readonly type: string;
  /** A Status when the type is ERROR. */
  readonly object: KubeObject & {
    readonly code?: number;
    readonly reason?: string;
    readonly message?: string;
    readonly details?: StatusDetails;
  };
}

export interface Watching extends AsyncDisposable {
  /** The next frame; undefined when the server ended the watch. */
  readonly next: () => Promise<Frame | undefined>;
  readonly take: (count: number) => Promise<readonly Frame[]>;
}

export interface WatchTarget {
  readonly path: string;
  readonly accept?: string;
}

export async function watching(client: ApiClient, target: WatchTarget, signal: AbortSignal): Promise<Watching> {
  const response = await client.stream({ purpose: 'watch', ...target }, signal);
  const frames = decode(response.body);
  const next = async (): Promise<Frame | undefined> => {
    const result = await frames.next();
    return result.done === true ? undefined : result.value;
  };
  return {
    next,
    async take(count) {
      const taken: Frame[] = [];
      while (taken.length < count) {
        const frame = await next();
        if (frame === undefined) break;
        taken.push(frame);
      }
      return taken;
    },
    [Symbol.asyncDispose]: async () => void (await frames.return(undefined)),
  };
}

async function* decode(body: AsyncIterable<Uint8Array>): AsyncGenerator<Frame, undefined> {
  let rest = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
      yield JSON.parse(rest.subarray(0, end).toString()) as Frame;
      rest = rest.subarray(end + 1);
    }
  }
}

/** `ADDED a`: what checks compare. */
export function briefly(frame: Frame): string {
  return `${frame.type} ${frame.object.metadata?.name ?? ''}`.trimEnd();
}
