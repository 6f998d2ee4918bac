// SPDX-License-Identifier: Apache-2.0
/** The faults between processes and the API server: windows of time, each with the requests that it concerns and how likely it strikes. */
import {
  type Fault,
  type FaultTarget,
  type ScheduledProcess,
  createLink,
  withFaults,
  type Draw,
} from '@csi-sidecars/runtime/testing';
import type { Transport } from '@csi-sidecars/runtime';

export interface FaultWindow {
  readonly untilMs: number;
  /** The beginning of a process name; empty for every process. */
  readonly who: string;
  /** `update persistentvolumeclaims/status`, `create *`, `* leases`, `*`. */
  readonly what: string;
  /** How likely a request meets it. */
  readonly chance: number;
  readonly fault: Fault;
  /** How many requests meet it. By default all. */
  readonly times?: number;
  /** What happens to the process together with it. */
  readonly onStrike?: (process: ScheduledProcess) => void;
}

export interface LagWindow {
  readonly untilMs: number;
  readonly who: string;
  /** The plural; empty for every kind. */
  readonly resource: string;
  readonly ms: number;
}

export interface Network {
  readonly open: (window: FaultWindow) => void;
  readonly lag: (window: LagWindow) => void;
  /** When the last message to or from the process arrived, or will arrive, that was late. */
  readonly lateUntilMs: (process: string) => number;
  /** From then on nothing fails, whatever is opened. */
  readonly end: () => void;
  readonly isOver: () => boolean;
  readonly transportFor: (process: ScheduledProcess) => Transport;
}

export interface NetworkDeps {
  readonly server: ScheduledProcess;
  readonly transport: Transport;
  readonly draw: Draw;
  /** A fault that no window has. */
  readonly strike?: ((process: ScheduledProcess, target: FaultTarget) => Fault | undefined) | undefined;
  readonly onRequest: (process: ScheduledProcess, target: FaultTarget, fault: Fault | undefined) => void;
}

export function createNetwork({ server, transport, draw, strike, onRequest }: NetworkDeps): Network {
  let faults: (FaultWindow & { asked: number; struck: number })[] = [];
  let lags: LagWindow[] = [];
  let over = false;
  const late = new Map<string, number>();
  let messages = 0;
  const now = (): number => server.clock.monotonicMs();

  /** Mostly at once or within milliseconds, rarely long. */
  function delayMs(): number {
    const roll = draw('delay', messages++);
    if (roll < 0.5) return 0;
    return roll < 0.98 ? Math.floor(roll * 12) : Math.floor((roll - 0.98) * 40_000);
  }

  function faultFor(process: ScheduledProcess, target: FaultTarget): Fault | undefined {
    for (const window of faults) {
      const { untilMs, who, what, chance, fault, times = Infinity, onStrike } = window;
      if (untilMs < now() || !process.name.startsWith(who) || !isMeant(what, target)) continue;
      if (window.struck === times || draw(`${what} ${untilMs}`, window.asked++) >= chance) continue;
      window.struck += 1;
      onStrike?.(process);
      return fault;
    }
    return undefined;
  }

  return {
    open: (window) => void (over || faults.push({ ...window, asked: 0, struck: 0 })),
    lag: (window) => void (over || lags.push(window)),
    lateUntilMs: (name) => late.get(name) ?? 0,
    isOver: () => over,
    end() {
      faults = [];
      lags = [];
      over = true;
    },
    transportFor(process) {
      const noted = (ms: number): number => {
        if (ms > usualMs) late.set(process.name, Math.max(late.get(process.name) ?? 0, now() + ms));
        return ms;
      };
      const decide = (target: FaultTarget): Fault | undefined => {
        const struck = strike?.(process, target);
        const fault = struck ?? (faults.length === 0 ? undefined : faultFor(process, target));
        if (fault?.kind === 'delay') noted(fault.ms);
        onRequest(process, target, fault);
        return fault;
      };
      const watchLagMs = (path: string): number => {
        let ms = delayMs();
        for (const { untilMs, who, resource, ms: lag } of lags) {
          if (untilMs >= now() && process.name.startsWith(who) && path.includes(`/${resource}`)) ms = Math.max(ms, lag);
        }
        return noted(ms);
      };
      const faulty = withFaults(transport, { clock: server.clock, decide });
      return createLink({ process, server, transport: faulty, delayMs: () => noted(delayMs()), watchLagMs });
    },
  };
}

/** Most messages are faster. */
const usualMs = 12;

function isMeant(what: string, { verb, resource, subresource }: FaultTarget): boolean {
  if (what === '*') return true;
  const [wantedVerb, wantedResource] = what.split(' ');
  if (wantedVerb !== '*' && wantedVerb !== verb && !(wantedVerb === 'write' && isWrite({ verb }))) return false;
  return wantedResource === '*' || wantedResource === pathOf({ resource, subresource });
}

const writes: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);

export function isWrite({ verb }: { readonly verb: string }): boolean {
  return writes.has(verb);
}

/** `persistentvolumeclaims/status` */
export function pathOf({ resource, subresource }: Pick<FaultTarget, 'resource' | 'subresource'>): string {
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}
