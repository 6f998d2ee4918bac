// SPDX-License-Identifier: Apache-2.0
/** One process of the control plane under the hand of the suite: start until ready, stop, kill, freeze, start again. */
import type { Clock } from '@csi-sidecars/runtime';
import { describeExit, logTail, startProcess, type ChildProcess } from '../../processes/child-process.ts';
import type { Component } from '../control-plane.ts';
import { isReady, type ComponentPlan } from './components.ts';

const pollMs = 50;
const readyWithinMs = 60_000;
/** The API server waits for open watches before it ends; the suite does not need that. */
const graceMs = 5000;

export interface LocalComponent extends Component {
  readonly logFile: string;
}

export interface ComponentDeps {
  readonly clock: Clock;
  readonly command: string;
  readonly logFile: string;
}

export function createComponent(plan: ComponentPlan, { clock, command, logFile }: ComponentDeps): LocalComponent {
  let child: ChildProcess | undefined;
  const running = (): ChildProcess => {
    if (child === undefined || child.exit !== undefined) throw new Error(`${plan.name} is not running`);
    return child;
  };
  return {
    name: plan.name,
    logFile,
    get pid() {
      return running().pid;
    },
    start: async (more = []) => {
      if (child !== undefined && child.exit === undefined) throw new Error(`${plan.name} runs already`);
      child = await startProcess({ name: plan.name, command, args: [...plan.args, ...more], logFile }, clock);
      await waitUntilReady(plan, child, clock);
    },
    stop: async () => {
      await child?.stop(graceMs);
    },
    kill: async () => {
      child?.signal('SIGKILL');
      await child?.exited;
    },
    pause: () => running().signal('SIGSTOP'),
    resume: () => running().signal('SIGCONT'),
  };
}

async function waitUntilReady(plan: ComponentPlan, child: ChildProcess, clock: Clock): Promise<void> {
  const deadlineMs = clock.monotonicMs() + readyWithinMs;
  while (!(await isReady(plan))) {
    if (child.exit !== undefined) {
      throw new Error(`${plan.name} ended (${describeExit(child.exit)}):\n${logTail(child.spec)}`);
    }
    if (clock.monotonicMs() > deadlineMs) {
      throw new Error(`${plan.name} is not ready after ${readyWithinMs / 1000} s:\n${logTail(child.spec)}`);
    }
    await clock.sleep(pollMs);
  }
}
