// SPDX-License-Identifier: Apache-2.0
import {
  CsiError,
  type CsiCallOptions,
  type CsiChannel,
  type Method,
  type RequestOf,
  type ResponseOf,
} from '@csi-sidecars/csi';
import type { ScheduledProcess } from '@csi-sidecars/runtime/testing';

export interface ChannelLink {
  readonly process: ScheduledProcess;
  readonly driver: ScheduledProcess;
  readonly channel: CsiChannel;
  readonly delayMs: () => number;
  readonly onCall: (method: string, request: object) => void;
  /** The driver has answered, whether or not the caller still waits. */
  readonly onAnswer: (method: string, request: object, outcome: string) => void;
  /** The caller has its answer, or has given up. */
  readonly onEnd: (method: string, request: object) => void;
}

/** The caller has a deadline of its own. */
const endlessMs = 3_600_000;

/** The socket between a process and its driver: a call arrives in a task of the driver, its answer in a task of the process. */
export function linkChannel({ process, driver, channel, delayMs, onCall, onAnswer, onEnd }: ChannelLink): CsiChannel {
  const lost = new AbortController();
  channel.lost.addEventListener('abort', () => process.post(() => lost.abort(channel.lost.reason)));
  process.onDeath(() => channel.close());
  return {
    lost: lost.signal,
    close: channel.close,
    call: <M extends Method>(method: M, request: RequestOf<M>, { timeoutMs, signal, ...rest }: CsiCallOptions) =>
      new Promise<ResponseOf<M>>((resolve, reject) => {
        const end = (act: () => void): void => {
          onEnd(method, request);
          deadline.cancel();
          signal?.removeEventListener('abort', onAbort);
          act();
        };
        const fail = (code: 'DeadlineExceeded' | 'Canceled', detail: string): void =>
          end(() => reject(new CsiError({ code, method, detail })));
        const onAbort = (): void => fail('Canceled', 'context canceled');
        const deadline = process.clock.timer(timeoutMs, () => fail('DeadlineExceeded', 'context deadline exceeded'));
        if (signal?.aborted === true) return onAbort();
        signal?.addEventListener('abort', onAbort);
        const ask = async (): Promise<void> => {
          let outcome: string = 'OK';
          let deliver: () => void;
          try {
            const answer = await channel.call(method, request, { timeoutMs: endlessMs, ...rest });
            deliver = () => resolve(answer);
          } catch (error) {
            outcome = (error as CsiError).code;
            deliver = () => reject(error);
          }
          onAnswer(method, request, outcome);
          process.post(() => end(deliver), delayMs());
        };
        driver.post(() => {
          if (signal?.aborted === true || process.isDead) return;
          onCall(method, request);
          void ask();
        }, delayMs());
      }),
  };
}
