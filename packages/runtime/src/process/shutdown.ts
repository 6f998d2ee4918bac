// SPDX-License-Identifier: Apache-2.0
/**
 * How a process ends, as a table. `drain` is what the feature gate ReleaseLeaderElectionOnExit turns on.
 *
 * | State | Input | Next | Effects |
 * |---|---|---|---|
 * | running, on signal: exit | SIGTERM, SIGINT | exiting | exit 143, 130 |
 * | running, on signal: drain | SIGTERM, SIGINT | draining | stop the work in order, set the timer |
 * | draining | SIGTERM, SIGINT | exiting | exit 1 |
 * | draining | timer | exiting | exit 1; what still runs is cut off, nothing is released |
 * | running, draining | the program ended | exiting | exit with its code |
 * | running, draining | the program failed | exiting | exit 1 |
 * | running, draining | uncaught exception, unhandled rejection | exiting | exit 2, Go's code for a panic |
 * | exiting | anything | exiting | |
 *
 * Not here: what an orderly stop consists of. The program does it when its signal aborts: workers, informers, events, lease.
 */

export type ShutdownState =
  | { readonly kind: 'running'; readonly onSignal: OnSignal }
  | { readonly kind: 'draining' }
  | { readonly kind: 'exiting' };

/** `exit`: at once; the lease expires by itself. `drain`: finish running work and release the lease. */
export type OnSignal = 'exit' | 'drain';

export type SignalName = 'SIGTERM' | 'SIGINT';
export type CrashOrigin = 'uncaughtException' | 'unhandledRejection';

export type ShutdownInput =
  | { readonly kind: 'configured'; readonly onSignal: OnSignal }
  | { readonly kind: 'signal'; readonly name: SignalName }
  | { readonly kind: 'drainTimeout' }
  | { readonly kind: 'ended'; readonly code: number }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'crashed'; readonly error: unknown; readonly origin: CrashOrigin };

export type ShutdownEffect =
  | { readonly kind: 'info'; readonly message: string }
  | { readonly kind: 'error'; readonly message: string; readonly error: unknown }
  | { readonly kind: 'drain' }
  | { readonly kind: 'exit'; readonly code: number };

export interface ShutdownStep {
  readonly state: ShutdownState;
  readonly effects: readonly ShutdownEffect[];
}

const signalCodes: Readonly<Record<SignalName, number>> = { SIGTERM: 143, SIGINT: 130 };
const crashTexts: Readonly<Record<CrashOrigin, string>> = {
  uncaughtException: 'Uncaught exception',
  unhandledRejection: 'Unhandled promise rejection',
};

export function shutdownStep(state: ShutdownState, input: ShutdownInput): ShutdownStep {
  if (state.kind === 'exiting') return { state, effects: [] };
  switch (input.kind) {
    case 'configured':
      return state.kind === 'running'
        ? { state: { ...state, onSignal: input.onSignal }, effects: [] }
        : { state, effects: [] };
    case 'signal':
      return onSignal(state, input.name);
    case 'drainTimeout':
      return exit(1, [{ kind: 'error', message: 'Work did not end in time, exiting without it', error: undefined }]);
    case 'ended':
      return exit(input.code, []);
    case 'failed':
      return exit(1, [{ kind: 'error', message: 'The program failed', error: input.error }]);
    case 'crashed':
      return exit(2, [{ kind: 'error', message: crashTexts[input.origin], error: input.error }]);
  }
}

function onSignal(state: Exclude<ShutdownState, { kind: 'exiting' }>, name: SignalName): ShutdownStep {
  if (state.kind === 'draining') return exit(1, [{ kind: 'info', message: 'Received a second signal, exiting' }]);
  if (state.onSignal === 'exit') return exit(signalCodes[name], []);
  const message = 'Received SIGTERM or SIGINT signal, shutting down controller.';
  return { state: { kind: 'draining' }, effects: [{ kind: 'info', message }, { kind: 'drain' }] };
}

function exit(code: number, effects: readonly ShutdownEffect[]): ShutdownStep {
  return { state: { kind: 'exiting' }, effects: [...effects, { kind: 'exit', code }] };
}
