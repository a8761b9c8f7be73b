// What the page asks the server. Addresses are relative, so the token is part of each by itself.

import { toast } from "./dom.js";

async function answer(promise) {
  let told;
  try {
    told = await promise;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The studio does not answer. Is `dred studio` still running?");
  }
  const kind = told.headers.get("content-type") || "";
  if (!kind.includes("json")) throw new Error(await told.text());
  const value = await told.json();
  if (!told.ok) throw new Error(value.error);
  return value;
}

export const address = (path, query = {}) => `api/${path}?${new URLSearchParams(query)}`;

export const get = (path, query, options = {}) => answer(fetch(address(path, query), options));

export const post = (path, body, options = {}) =>
  answer(fetch(`api/${path}`, {
    method: "POST", body: JSON.stringify(body),
    headers: { "content-type": "application/json" }, ...options,
  }));

export const upload = file =>
  answer(fetch(address("open", { name: file.name }), { method: "POST", body: file }));

/** Do something; say in a toast what went wrong. Returns undefined then. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (error.name !== "AbortError") toast(error.message, "bad");
    return undefined;
  }
}

/** A function that asks for the newest of what it is called with, one request at a time. */
export function newest(ask, take) {
  let waiting = null, busy = false;
  return async function call(...given) {
    waiting = given;
    if (busy) return;
    busy = true;
    while (waiting) {
      const now = waiting;
      waiting = null;
      const found = await attempt(() => ask(...now));
      if (found !== undefined && !waiting) take(found, ...now);
    }
    busy = false;
  };
}
