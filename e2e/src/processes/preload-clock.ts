// SPDX-License-Identifier: Apache-2.0
/** Loaded by Node.js before a program: every current time that the program reads from `Date` is E2E_CLOCK_AHEAD_MS later. */
const RealDate = Date;
const aheadMs = Number(process.env['E2E_CLOCK_AHEAD_MS']);
const now = (): number => RealDate.now() + aheadMs;

globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
  get: (target, name, receiver) => (name === 'now' ? now : (Reflect.get(target, name, receiver) as unknown)),
});
