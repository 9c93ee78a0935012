import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/query-client.ts";
import { Announcement } from "./components/announcement.tsx";
import { SignedOut } from "./components/signed-out.tsx";
import { WaitNotice } from "./components/wait-notice.tsx";
import { router } from "./router.tsx";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/components.css";
import "./styles/tables.css";
import "./styles/lists.css";

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
      <div className="page-notices">
        <SignedOut />
        <WaitNotice />
      </div>
      <Announcement />
    </QueryClientProvider>
  </StrictMode>,
);
