// A small model that really runs, behind /v1/chat/completions. `node smallmodel.mjs MODEL.gguf` prints its port.
// It answers one call at a time, with one thread: more of them wait for one another.
import http from "node:http";
import { getLlama, LlamaChatSession } from "node-llama-cpp";

const MOST = 40; // tokens of an answer
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: "error" });
const model = await llama.loadModel({ modelPath: process.argv[2] });
const context = await model.createContext({ contextSize: 2048, threads: 1 });

const textOf = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(""));

async function answered(asked) {
  const prompt = (asked.messages ?? []).filter((message) => message.role === "user").map((message) => textOf(message.content));
  const wanted = asked.max_completion_tokens ?? asked.max_tokens ?? MOST;
  const sequence = context.getSequence();
  const before = sequence.tokenMeter.getState();
  const session = new LlamaChatSession({ contextSequence: sequence });
  try {
    const text = await session.prompt(prompt.join("\n").slice(-1000), { maxTokens: Math.min(wanted, MOST), temperature: 0 });
    const used = sequence.tokenMeter.diff(before);
    const [prompt_tokens, completion_tokens] = [used.usedInputTokens, used.usedOutputTokens];
    return { text, usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens } };
  } finally {
    session.dispose();
    sequence.dispose();
  }
}

const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const asked = JSON.parse(body || "{}");
  const { text, usage } = await answered(asked);
  const head = { id: "1", created: 1, model: asked.model };
  if (asked.stream) {
    const events = [
      { choices: [{ index: 0, delta: { role: "assistant", content: text }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      { choices: [], usage },
    ];
    response.setHeader("content-type", "text/event-stream");
    for (const event of events) response.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...event })}\n\n`);
    response.end("data: [DONE]\n\n");
    return;
  }
  const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: text } }];
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ ...head, object: "chat.completion", usage, choices }));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
